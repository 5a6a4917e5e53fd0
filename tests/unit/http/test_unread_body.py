"""An answer that is known before the body has come waits for it, within bounds."""

import asyncio
from collections.abc import Sequence

import pytest
from starlette.types import Message, Receive, Scope, Send

from gateway.http import middleware
from gateway.http.middleware import UnreadBody

PIECE = b"x" * 64 * 1024
ANSWER: list[Message] = [
    {"type": "http.response.start", "status": 401, "headers": []},
    {"type": "http.response.body", "body": b"no"},
]


async def refuse(_scope: Scope, _receive: Receive, send: Send) -> None:
    for message in ANSWER:
        await send(message)


async def read_all(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    await refuse(scope, receive, send)


class Peer:
    """Sends pieces of a body and notes what came when; `endless` after them."""

    def __init__(self, pieces: Sequence[bytes], *, endless: bool = False) -> None:
        self.left = list(pieces)
        self.endless = endless
        self.seen: list[str] = []

    async def receive(self) -> Message:
        """Return the next piece."""
        if not self.left and not self.endless:
            raise AssertionError("there is nothing more to receive")
        self.seen.append("piece")
        body = self.left.pop(0) if self.left else PIECE
        return {
            "type": "http.request",
            "body": body,
            "more_body": bool(self.left) or self.endless,
        }

    async def send(self, message: Message) -> None:
        """Note what is answered."""
        self.seen.append(message["type"])


def scope(*headers: tuple[bytes, bytes]) -> Scope:
    return {"type": "http", "headers": list(headers)}


SENT = scope((b"content-length", b"131072"))
END = ["http.response.start", "http.response.body"]


async def test_the_rest_of_a_body_is_read_before_the_answer_begins() -> None:
    peer = Peer([PIECE, PIECE])
    await UnreadBody(refuse)(SENT, peer.receive, peer.send)
    assert peer.seen == ["piece", "piece", *END]


async def test_a_body_that_was_read_is_not_waited_for() -> None:
    peer = Peer([PIECE, PIECE])
    await UnreadBody(read_all)(SENT, peer.receive, peer.send)
    assert peer.seen == ["piece", "piece", *END]


async def test_where_no_body_is_announced_nothing_is_read() -> None:
    peer = Peer([])
    await UnreadBody(refuse)(scope((b"accept", b"*/*")), peer.receive, peer.send)
    assert peer.seen == END


async def test_of_a_body_without_end_a_mebibyte_is_read_and_no_more() -> None:
    peer = Peer([], endless=True)
    await UnreadBody(refuse)(scope((b"transfer-encoding", b"chunked")), peer.receive, peer.send)
    assert peer.seen == ["piece"] * 16 + END


async def test_a_slow_body_does_not_hold_the_answer_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "_LONGEST_WAIT", 0.01)
    peer = Peer([])

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    await UnreadBody(refuse)(SENT, never, peer.send)
    assert peer.seen == END


async def test_a_client_that_leaves_ends_the_wait() -> None:
    peer = Peer([])

    async def left() -> Message:
        peer.seen.append("left")
        return {"type": "http.disconnect"}

    await UnreadBody(refuse)(SENT, left, peer.send)
    assert peer.seen == ["left", *END]
