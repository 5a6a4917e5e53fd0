"""What is read without h11 is a strict part of what h11 takes, and is read as h11 reads it.

Spec: RFC 9112 §3, §5, §6; attacks: request smuggling.
"""

from typing import Any

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.supervisor.server.whole_requests import WholeRequest, read_whole_request, scope_of

PLAIN = (
    b"POST /realms/a/token?b=c HTTP/1.1\r\nHost: gateway\r\nX-Forwarded-For:127.0.0.1\r\n"
    b"Empty:\r\nSpaced: \t a  b \t\r\nContent-Length: 3\r\n\r\na=b"
)


def by_h11(data: bytes) -> WholeRequest | None:
    """Return the request if h11 finds exactly this one; None where it finds fault or more."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    try:
        events: list[Any] = [connection.next_event()]
        while events[-1] not in (h11.NEED_DATA, h11.PAUSED):
            events.append(connection.next_event())
    except h11.RemoteProtocolError:
        return None
    request, *parts = events[:-1] or [None]
    if not isinstance(request, h11.Request) or connection.trailing_data[0]:
        return None
    if not parts or not isinstance(parts[-1], h11.EndOfMessage):
        return None
    return WholeRequest(
        request.method.decode(),
        bytes(request.target),
        list(request.headers),
        b"".join(bytes(part.data) for part in parts[:-1]),
    )


def test_a_plain_request_is_read() -> None:
    assert read_whole_request(PLAIN) == WholeRequest(
        "POST",
        b"/realms/a/token?b=c",
        [
            (b"host", b"gateway"),
            (b"x-forwarded-for", b"127.0.0.1"),
            (b"empty", b""),
            (b"spaced", b"a  b"),
            (b"content-length", b"3"),
        ],
        b"a=b",
    )
    assert read_whole_request(PLAIN) == by_h11(PLAIN)


def changed(old: bytes, new: bytes) -> bytes:
    assert PLAIN.count(old) >= 1
    return PLAIN.replace(old, new, 1)


ODD = [
    PLAIN[:-1],
    PLAIN + b"c",
    PLAIN + PLAIN,
    PLAIN[: PLAIN.index(b"\r\n\r\n") + 2],
    changed(b"HTTP/1.1", b"HTTP/1.0"),
    changed(b"HTTP/1.1", b"HTTP/2.0"),
    changed(b"POST ", b"post "),
    changed(b"POST ", b"CONNECT "),
    changed(b"POST ", b"P@ST "),
    changed(b"POST ", b"POST  "),
    changed(b"POST ", b"\r\nPOST "),
    changed(b"/realms", b"http://gateway/realms"),
    changed(b"/realms", b"*"),
    changed(b"/realms", b"/re alms"),
    changed(b"/realms", b"/re\talms"),
    changed(b"/realms", b"/re\xc3\xa4lms"),
    changed(b"Host: gateway\r\n", b""),
    changed(b"Host: gateway", b"Host: gateway\r\nHost: gateway"),
    changed(b"Host: gateway\r\n", b"Host: gateway\n"),
    changed(b"Host: gateway\r\n", b"Host: gateway\r"),
    changed(b"Host: gateway", b"Host: gate\rway"),
    changed(b"Host: gateway", b"Host: gate\0way"),
    changed(b"Host: gateway", b"Host: gate\x01way"),
    changed(b"Host: gateway", b"Host: gate\x0bway"),
    changed(b"Host: gateway", b"Host: gate\x7fway"),
    changed(b"Host: gateway", b"Host: gate\xe4way"),
    changed(b"Host: gateway", b"Host : gateway"),
    changed(b"Host: gateway", b" Host: gateway"),
    changed(b"Host: gateway", b"Host: gateway\r\n folded"),
    changed(b"Host: gateway", b"Host: gateway\r\nno colon"),
    changed(b"Host: gateway", b"Host: gateway\r\n: no name"),
    changed(b"Host: gateway", b"Host: gateway\r\n(a): b"),
    changed(b"Host: gateway", b"Host: gateway\r\n" + b"a" * 65 + b": b"),
    changed(b"Content-Length: 3", b"Content-Length: 2"),
    changed(b"Content-Length: 3", b"Content-Length: 4"),
    changed(b"Content-Length: 3", b"Content-Length: +3"),
    changed(b"Content-Length: 3", b"Content-Length: -3"),
    changed(b"Content-Length: 3", b"Content-Length: 0x3"),
    changed(b"Content-Length: 3", b"Content-Length: 3_"),
    changed(b"Content-Length: 3", b"Content-Length:"),
    changed(b"Content-Length: 3", b"Content-Length: 3, 3"),
    changed(b"Content-Length: 3", b"Content-Length: 3\r\nContent-Length: 3"),
    changed(b"Content-Length: 3", b"Content-Length: 3\r\nContent-Length: 0"),
    changed(b"Content-Length: 3", b"Content-Length: " + b"0" * 5000 + b"3"),
    changed(b"Content-Length: 3", b"Content-Length: 3\r\nTransfer-Encoding: chunked"),
    changed(b"Content-Length: 3", b"Transfer-Encoding: chunked"),
    changed(b"Content-Length: 3", b"Transfer-Encoding: identity"),
    changed(b"Content-Length: 3\r\n", b""),
    changed(b"Empty:", b"Connection: close"),
    changed(b"Empty:", b"CONNECTION: keep-alive"),
    changed(b"Empty:", b"Upgrade: h2c"),
    changed(b"Empty:", b"Expect: 100-continue"),
    b"",
    b"\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
]


@pytest.mark.parametrize("data", ODD)
def test_what_is_unusual_or_wrong_is_left_to_h11(data: bytes) -> None:
    assert read_whole_request(data) is None


PIECES = st.sampled_from(
    [
        *PLAIN.replace(b"\r\n", b" ").split(b" "),
        *[b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b",", b"\0", b"\xff", b"/", b"\r\n\r\n"],
        *[b"GET", b"Host: a", b"Content-Length: 0", b"Content-Length: 1", b"Connection: close"],
        *[b"Transfer-Encoding: chunked", b"0\r\n\r\n", b"HTTP/1.0", b"00", b"Expect:", b"a"],
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Return a plain request with pieces put into it, out of it, or in the place of others."""
    data = draw(st.sampled_from([PLAIN, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"]))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        piece = draw(st.one_of(PIECES, st.binary(max_size=2)))
        data = data[:at] + piece + data[at + draw(st.integers(0, 4)) :]
    return data


@given(mutated())
@example(PLAIN)
@example(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 007\r\n\r\nabcdefg")
def test_whatever_is_read_h11_reads_too(data: bytes) -> None:
    request = read_whole_request(data)
    assert request is None or request == by_h11(data)


def test_a_path_is_decoded_and_its_raw_form_kept() -> None:
    request = WholeRequest("GET", b"/a%2Fb%C3%A4?c=%20", [], b"")
    scope = scope_of(request, None, None)
    assert scope["path"] == "/a/bä"
    assert scope["raw_path"] == b"/a%2Fb%C3%A4"
    assert scope["query_string"] == b"c=%20"
