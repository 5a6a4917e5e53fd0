"""`browserSecurityHeaders`. Spec: part 2.2; RFC 9110 §5.5."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.errors import InvalidInput
from gateway.representations.realms.special_fields import SecurityHeadersMap
from tests.support.realms import thorough

SHAPE = SecurityHeadersMap()


def test_values_pass_through_as_given_in_order() -> None:
    given = {"xFrameOptions": "SOMEORIGIN", "contentSecurityPolicyReportOnly": "", "own": "a\tb"}
    headers = SHAPE.read(given, "h")
    assert headers.values == tuple(given.items())
    assert SHAPE.write(headers) == given
    assert headers.value("xFrameOptions") == "SOMEORIGIN"


@pytest.mark.parametrize(
    "value",
    [
        "a\r\nSet-Cookie: x=y",
        "a\nb",
        "a\rb",
        "a\0b",
        "a\x7fb",
        "a\x1fb",
        "a\x85b",
        "a€b",
        "\ud800",
        " a",
        "a ",
        "\ta",
        "x" * 2001,
        ["a"],
        {"a": "b"},
    ],
)
def test_a_value_that_would_break_a_response_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput) as refusal:
        SHAPE.read({"xFrameOptions": value}, "browserSecurityHeaders")
    assert [error.path for error in refusal.value.errors] == [
        "browserSecurityHeaders.xFrameOptions"
    ]


@pytest.mark.parametrize("name", ["", "a b", "a\r\nb", "a:b", "ä", "x" * 101])
def test_a_key_that_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        SHAPE.read({name: "x"}, "h")


def test_values_that_together_exceed_a_proxys_buffer_are_refused() -> None:
    assert SHAPE.read({"a": "x" * 2000, "b": "x" * 1000}, "h")
    with pytest.raises(InvalidInput):
        SHAPE.read({"a": "x" * 2000, "b": "x" * 1001}, "h")


@thorough
@given(st.text(max_size=30))
def test_whatever_is_accepted_can_be_sent_by_the_server(value: str) -> None:
    try:
        SHAPE.read({"x": value}, "h")
    except InvalidInput:
        return
    server = h11.Connection(h11.SERVER)
    server.receive_data(b"GET / HTTP/1.1\r\nHost: demo.test\r\n\r\n")
    server.next_event()
    headers = [(b"X-Frame-Options", value.encode("latin-1"))]
    sent = server.send(h11.Response(status_code=204, headers=headers))
    assert sent is not None
    assert sent.count(b"\r\n") == 3
