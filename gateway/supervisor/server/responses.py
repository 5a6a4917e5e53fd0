"""The response to one whole request, head and first part of the body in one write.

Its framing is checked as h11 checks it: no line end in a header, a body as long as Content-Length.
Spec: RFC 9112 §6, RFC 9110 §6.4.1, §9.3.2
"""

import asyncio
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from time import time
from typing import Any, Final

from gateway.supervisor.server.ending import Ending
from gateway.supervisor.server.whole_requests import WholeRequest

_NOT_IN_A_LINE: Final = b"\r\n\0\v\f"
_WITHOUT_BODY: Final = frozenset({204, 304})
REASONS: Final = {status.value: status.phrase.encode("ascii") for status in HTTPStatus}
"""Reason phrases by status; some clients quote them in their errors."""
_STATUS_LINES: Final = {status: b"HTTP/1.1 %d %b" % (status, REASONS[status]) for status in REASONS}
_FAILED: Final = (
    b"HTTP/1.1 500 Internal Server Error\r\n"
    b"content-length: 0\r\nconnection: close\r\ndate: %b\r\n\r\n"
)

REFUSAL: Final = (
    b'{"error":"invalid_request","error_description":"The request is not well-formed HTTP/1.1"}'
)
REFUSAL_HEADERS: Final = (
    (b"content-type", b"application/json"),
    (b"content-length", b"%d" % len(REFUSAL)),
    (b"connection", b"close"),
)

Write = Callable[[bytes], Awaitable[None]]


class InvalidResponse(Exception):
    """The application's messages are no valid response."""


class ResponseWriter:
    """ASGI's `receive` and `send` for one request."""

    def __init__(self, request: WholeRequest, write: Write, ending: Ending) -> None:
        self._request = request
        self._write = write
        self._ending = ending
        self._unread = True
        self._finished = asyncio.Event()
        self._head = b""
        self._remaining: int | None = None
        """Bytes of the body that the application has not sent yet; None for chunks."""
        self._without_body = False
        """Whether the response has no body, whatever its Content-Length."""
        self.started = False
        self.complete = False
        self.keeps_connection = True

    async def receive(self) -> dict[str, Any]:
        """Return the whole body; after that wait, and return the disconnect."""
        if self._unread:
            self._unread = False
            return {"type": "http.request", "body": self._request.body, "more_body": False}
        await self._finished.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        """Write the start of the response, then its body; raises InvalidResponse."""
        kind = message["type"]
        if kind == "http.response.start" and not self._head:
            self._start(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self._head and not self.complete:
            more = message.get("more_body", False)
            data = self._frame(message.get("body", b""), more=more)
            if not self.started:
                self.started, data = True, self._head + data
            self.complete = not more
            if data:
                await self._write(data)
            if self.complete:
                self._finished.set()
        else:
            raise InvalidResponse(f"{kind} out of order")

    async def finish(self) -> None:
        """Write 500 if the application sent nothing; half a response closes the connection."""
        self._finished.set()
        if not self.complete:
            self.keeps_connection = False
            if not self.started:
                await self._write(_FAILED % date_line(int(time())))

    def _start(self, status: int, headers: Any) -> None:
        lines = [_STATUS_LINES.get(status) or b"HTTP/1.1 %d " % status]
        length = None
        for name, value in headers:
            lines.append(b"%b: %b" % (name, value))
            lower = name.lower()
            if lower == b"content-length":
                length = int(value)
            elif lower == b"connection" and b"close" in value.lower():
                self.keeps_connection = False
        if self._ending.ends_with_response() and self.keeps_connection:
            self.keeps_connection = False
            lines.append(b"connection: close")
        lines.append(b"date: " + date_line(int(time())))
        self._without_body = self._request.method == "HEAD" or status in _WITHOUT_BODY
        self._remaining = length
        if length is None and not self._without_body:
            lines.append(b"transfer-encoding: chunked")
        head = b"\r\n".join([*lines, b"", b""])
        if len(head) - len(head.translate(None, _NOT_IN_A_LINE)) != 2 * len(lines) + 2:
            raise InvalidResponse("a header contains a line end or NUL")
        self._head = head

    def _frame(self, body: bytes, *, more: bool) -> bytes:
        if self._without_body:
            return b""
        if self._remaining is None:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk if more else chunk + b"0\r\n\r\n"
        self._remaining -= len(body)
        if self._remaining < 0 or (self._remaining > 0 and not more):
            raise InvalidResponse("the body is not as long as Content-Length")
        return body


@lru_cache(maxsize=1)
def date_line(second: int) -> bytes:
    """Return the value of `Date` for a second, formatted once for all its responses."""
    return formatdate(second, usegmt=True).encode()
