"""The answer to one whole request, head and first part of the body in one write.

Its framing is checked as h11 checks it: no line end within a header, a body as long as was said.
Spec: RFC 9112 §6, RFC 9110 §6.4.1, §9.3.2
"""

import asyncio
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import Any, Final

from gateway.supervisor.whole_requests import WholeRequest

_NOT_IN_A_LINE: Final = b"\r\n\0\v\f"
_WITHOUT_BODY: Final = frozenset({204, 304})
_FAILED: Final = b"HTTP/1.1 500 \r\ncontent-length: 0\r\nconnection: close\r\ndate: %b\r\n\r\n"

REFUSAL: Final = (
    b'{"error":"invalid_request","error_description":"The request is not well-formed HTTP/1.1"}'
)
REFUSAL_HEADERS: Final = (
    (b"content-type", b"application/json"),
    (b"content-length", b"%d" % len(REFUSAL)),
    (b"connection", b"close"),
)

Write = Callable[[bytes], Awaitable[None]]


class AnswerBroken(Exception):
    """What the application sends is no answer."""


class Answer:
    """What the application is given to read the request and to send the answer."""

    def __init__(self, request: WholeRequest, write: Write) -> None:
        """Answer `request` by `write`."""
        self._request = request
        self._write = write
        self._unread = True
        self._over = asyncio.Event()
        self._head = b""
        self._left: int | None = None
        """Bytes of the body that are still to come; None where it is sent in chunks."""
        self._silent = False
        """Whether the answer has no body, whatever its length says."""
        self.begun = False
        self.whole = False
        self.keeps_connection = True

    async def receive(self) -> dict[str, Any]:
        """Give the whole body at once; then there is nothing but the end."""
        if self._unread:
            self._unread = False
            return {"type": "http.request", "body": self._request.body, "more_body": False}
        await self._over.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        """Take the start of the answer, then its body; raises AnswerBroken out of turn."""
        kind = message["type"]
        if kind == "http.response.start" and not self._head:
            self._start(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self._head and not self.whole:
            more = message.get("more_body", False)
            data = self._framed(message.get("body", b""), more=more)
            if not self.begun:
                self.begun, data = True, self._head + data
            self.whole = not more
            if data:
                await self._write(data)
            if self.whole:
                self._over.set()
        else:
            raise AnswerBroken(f"{kind} at the wrong moment")

    async def finish(self) -> None:
        """Say 500 for an application that said nothing; half an answer ends the connection."""
        self._over.set()
        if not self.whole:
            self.keeps_connection = False
            if not self.begun:
                await self._write(_FAILED % date_line(int(time())))

    def _start(self, status: int, headers: Any) -> None:
        lines = [b"HTTP/1.1 %d " % status]
        length = None
        for name, value in headers:
            lines.append(b"%b: %b" % (name, value))
            lower = name.lower()
            if lower == b"content-length":
                length = int(value)
            elif lower == b"connection" and b"close" in value.lower():
                self.keeps_connection = False
        lines.append(b"date: " + date_line(int(time())))
        self._silent = self._request.method == "HEAD" or status in _WITHOUT_BODY
        self._left = length
        if length is None and not self._silent:
            lines.append(b"transfer-encoding: chunked")
        head = b"\r\n".join([*lines, b"", b""])
        if len(head) - len(head.translate(None, _NOT_IN_A_LINE)) != 2 * len(lines) + 2:
            raise AnswerBroken("a header with a line end or NUL in it")
        self._head = head

    def _framed(self, body: bytes, *, more: bool) -> bytes:
        if self._silent:
            return b""
        if self._left is None:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk if more else chunk + b"0\r\n\r\n"
        self._left -= len(body)
        if self._left < 0 or (self._left > 0 and not more):
            raise AnswerBroken("a body that is not as long as was said")
        return body


@lru_cache(maxsize=1)
def date_line(second: int) -> bytes:
    """Return the value of `Date` for a second, made once for all answers of it."""
    return formatdate(second, usegmt=True).encode()
