"""The listener speaks HTTP/1.1 and never turns into anything else. RFC 9110 §7.8, RFC 9113 §3."""

import json
import socket

import pytest

from tests.support.wire import Wire

HEAD = "GET /realms/wire HTTP/1.1\r\nHost: gateway\r\n"
WEBSOCKET = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
H2C = "HTTP2-Settings: AAMAAABkAAQAAP__\r\n"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def raw(wire: Wire, request: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(wire.gateway.socket))
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    ("protocol", "headers"), [("websocket", WEBSOCKET), ("WebSocket", WEBSOCKET), ("h2c", H2C)]
)
def test_an_upgrade_is_ignored(wire: Wire, protocol: str, headers: str) -> None:
    upgrade = f"Upgrade: {protocol}\r\nConnection: Upgrade\r\n{headers}\r\n"
    following = f"{HEAD}Connection: close\r\n\r\n"
    answer = raw(wire, f"{HEAD}{upgrade}{following}".encode())
    assert answer.count(b"HTTP/1.1 ") == answer.count(b"HTTP/1.1 200") == 2
    assert answer.count(b'"realm":"wire"') == 2


def test_http2_by_prior_knowledge_is_answered_in_http11(wire: Wire) -> None:
    answer = raw(wire, PREFACE)
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert answer.count(b"HTTP/1.1 400 ") == 1


def test_a_folded_line_is_refused_where_it_comes_in_pieces(wire: Wire) -> None:
    """RFC 9112 §5.2; a caller that reaches the gateway directly has no proxy that refuses it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(wire.gateway.socket))
        for piece in (HEAD.encode(), b"X-Test: a\r\n", b" b\r\n", b"\r\n"):
            connection.sendall(piece)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_folded_trailers_are_refused(wire: Wire) -> None:
    head = HEAD.replace("GET", "POST")
    body = "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Test: a\r\n b\r\n\r\n"
    answer = raw(wire, f"{head}{body}".encode())
    assert b"HTTP/1.1 200" not in answer


@pytest.mark.parametrize(
    "request_text",
    [
        f"{HEAD}X-Test: a\x0bb\r\n\r\n",
        f"{HEAD}X-Test: a\x0cb\r\n\r\n",
        f"{HEAD}X-Test: a\r\n b\r\n\r\n",
        f"{HEAD}X-Test: a\r\n\tb\r\n\r\n",
        f"{HEAD}X-Test: a\r\n \r\n\r\n",
        f"{HEAD}X-Forwarded-Proto:\r\n https\r\n\r\n",
        "GET /realms/wire HTTP/1.1\r\n\r\n",
        "garbage\r\n\r\n",
        f"{HEAD.replace('GET', 'HEAD')}X-Test: a\x0bb\r\n\r\n",
    ],
)
def test_an_unreadable_request_is_refused_in_words(wire: Wire, request_text: str) -> None:
    head, _, body = raw(wire, request_text.encode()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/json" in head.lower()
    assert json.loads(body)["error"] == "invalid_request"


@pytest.mark.parametrize("declared", ["", "Transfer-Encoding: chunked\r\n"], ids=["whole", "h11"])
def test_a_status_has_its_reason_phrase(wire: Wire, declared: str) -> None:
    """Clients quote it: gocloak's errors are `404 Not Found: Could not find client`."""
    body = "0\r\n\r\n" if declared else ""
    close = f"Connection: close\r\n{declared}\r\n{body}"
    answer = raw(wire, f"GET /realms/nowhere HTTP/1.1\r\nHost: gateway\r\n{close}".encode())
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")


def test_an_answer_before_the_whole_body_announces_the_close(wire: Wire) -> None:
    """A client that reused the connection would lose its next request. RFC 9112 §9.6."""
    path = "/realms/wire/protocol/openid-connect/token"
    form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1500000\r\n"
    start = f"POST {path} HTTP/1.1\r\nHost: gateway\r\n{form}\r\n".encode()
    head = raw(wire, start + b"a" * 1_200_000).partition(b"\r\n\r\n")[0].lower().split(b"\r\n")
    assert head[0].startswith(b"http/1.1 413 ")
    assert b"connection: close" in head
