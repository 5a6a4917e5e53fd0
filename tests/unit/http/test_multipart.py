"""Multipart forms, read strictly. Spec: RFC 7578."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.forms import FormRefused, parse_multipart

TYPE = b"multipart/form-data; boundary=XX"
NAMED = b'Content-Disposition: form-data; name="a"'


def form(*parts: bytes, end: bytes = b"--XX--\r\n") -> bytes:
    return b"".join(b"--XX\r\n" + part + b"\r\n" for part in parts) + end


def part(name: str, content: bytes, more: bytes = b"") -> bytes:
    head = b'Content-Disposition: form-data; name="' + name.encode() + b'"' + more
    return head + b"\r\n\r\n" + content


names = st.from_regex(r"[A-Za-z0-9_.-]{1,20}", fullmatch=True)


@given(st.dictionaries(names, st.binary(max_size=200), max_size=5))
def test_what_is_sent_is_read(sent: dict[str, bytes]) -> None:
    boundary = b"a-boundary-that-is-nowhere-else"
    delimiter = b"--" + boundary
    parts = (delimiter + b"\r\n" + part(*one) + b"\r\n" for one in sent.items())
    body = b"".join((*parts, delimiter, b"--"))
    assert parse_multipart(body, b"multipart/form-data; boundary=" + boundary) == sent


@given(st.binary(max_size=300))
def test_anything_else_is_refused_and_nothing_worse(body: bytes) -> None:
    with pytest.raises(FormRefused) as refusal:
        parse_multipart(body, TYPE)
    assert refusal.value.status == 400


@pytest.mark.parametrize(
    "content_type",
    [
        b"multipart/form-data; boundary=XX",
        b'Multipart/Form-Data;boundary="XX"',
        b"multipart/form-data; charset=utf-8; boundary=XX",
        b"multipart/form-data; BOUNDARY=XX ",
    ],
)
def test_the_boundary_is_named_by_the_type(content_type: bytes) -> None:
    assert parse_multipart(form(part("a", b"1")), content_type) == {"a": b"1"}


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        b"",
        b"application/json",
        b"multipart/mixed; boundary=XX",
        b"multipart/form-data",
        b"multipart/form-data; boundary=",
        b"multipart/form-data; boundary=" + b"X" * 71,
        b"multipart/form-data; boundary=XX; boundary=YY",
        b'multipart/form-data; boundary="X\\X"',
    ],
)
def test_another_type_is_unsupported(content_type: bytes | None) -> None:
    with pytest.raises(FormRefused) as refusal:
        parse_multipart(form(part("a", b"1")), content_type)
    assert refusal.value.status == 415


def test_contents_are_taken_as_they_are() -> None:
    tricky = b"\r\n\r\n--XY\r\n\0\xff--XX"
    file = b'; filename="a;b"\r\nContent-Type: application/octet-stream'
    body = form(part("a", tricky, file), part("b", b""))
    assert parse_multipart(body, TYPE) == {"a": tricky, "b": b""}
    assert parse_multipart(body.removesuffix(b"\r\n"), TYPE) == {"a": tricky, "b": b""}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        form(part("a", b"1"), end=b""),
        form(part("a", b"1"), end=b"--XX--\r\nmore"),
        b"before\r\n" + form(part("a", b"1")),
        form(part("a", b"1"), part("a", b"2")),
        form(NAMED + b"\r\n" + NAMED + b"\r\n\r\n1"),
        form(b"Content-Type: text/plain\r\n\r\n1"),
        form(NAMED),
        form(b"Content-Disposition: form-data; name=a\r\n\r\n1"),
        form(b'Content-Disposition: form-data; name="a b"\r\n\r\n1'),
        form(b'Content-Disposition: attachment; name="a"\r\n\r\n1'),
        form(NAMED + b' filename="x"\r\n\r\n1'),
        form(NAMED + b"\r\nContent-Transfer-Encoding: base64\r\n\r\nMQ=="),
        form(NAMED + b"\r\nX: " + b"x" * 2048 + b"\r\n\r\n1"),
        b"--XX beside\r\n" + NAMED + b"\r\n\r\n1\r\n--XX--",
        b"--XX\n" + NAMED + b"\n\n1\n--XX--",
        form(*(part(f"a{number}", b"") for number in range(21))),
    ],
)
def test_a_form_that_two_readers_may_read_in_two_ways_is_refused(body: bytes) -> None:
    with pytest.raises(FormRefused) as refusal:
        parse_multipart(body, TYPE)
    assert refusal.value.status == 400


def test_parts_are_many_and_their_encoding_may_be_named() -> None:
    body = form(
        NAMED + b"\r\nContent-Transfer-Encoding: Binary\r\n\r\n1",
        *(part(f"a{number}", b"") for number in range(19)),
    )
    assert len(parse_multipart(body, TYPE)) == 20
