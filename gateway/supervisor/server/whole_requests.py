"""Requests that arrive whole and in plain form, as a proxy sends them, and their responses.

This reader accepts a strict part of h11's input, and reads it as h11 does. It leaves all else to
h11: requests in pieces or several at once, other versions, CONNECT, transfer codings, options of
the connection, folded lines, bytes beyond ASCII, and every malformed request. Head and first part
of the response are sent in one write, with h11's checks: no line end in a header, a body as long as
Content-Length.

A proxy may send a request at the moment when its idle connection is closed; a POST is then lost,
for the proxy must not send it again. So each response announces the end of its connection, and
idle connections are closed when requests have ceased.
Spec: RFC 9110 §6.4.1, §9.3.2, RFC 9112 §3, §5, §6, §9.6; attacks F14
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from time import time
from typing import Any, Final
from urllib.parse import unquote

_REQUEST_LINE: Final = re.compile(rb"([A-Z]+) (/[!-~]*) HTTP/1\.1")
_NAME: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_TEXT: Final = bytes(range(0x20, 0x7F)) + b"\t"
_LEFT_TO_H11: Final = frozenset({b"transfer-encoding", b"connection", b"expect", b"upgrade"})
_LENGTH_DIGITS: Final = 9
_LONGEST_NAME: Final = 64
"""Of a header that is read here: names are cached, and a peer chooses them."""

Headers = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class WholeRequest:
    """A request with all of its body; the names of its headers are in lower case."""

    method: str
    target: bytes
    headers: Headers
    body: bytes


def read_whole_request(data: bytes) -> WholeRequest | None:
    """Return the one request in `data`; None where h11 has to read it."""
    head, end, body = data.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    # The only line ends are those between the lines; all other bytes are printable.
    if not end or len(head.translate(None, _TEXT)) != 2 * len(lines):
        return None
    line = _REQUEST_LINE.fullmatch(first)
    if line is None or line[1] == b"CONNECT":
        return None
    headers = _read_headers(lines)
    if headers is None or not _is_framed(headers, len(body)):
        return None
    return WholeRequest(line[1].decode(), line[2], headers, body)


def scope_of(
    request: WholeRequest, client: tuple[str, int] | None, server: tuple[str, int] | None
) -> dict[str, Any]:
    """Return the ASGI scope of a request, with the same keys as Hypercorn's."""
    path, _, query = request.target.partition(b"?")
    return {
        "type": "http",
        "http_version": "1.1",
        "asgi": {"spec_version": "2.1", "version": "3.0"},
        "method": request.method,
        "scheme": "http",
        "path": unquote(path.decode()),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": request.headers,
        "client": client,
        "server": server,
        "state": {},
        "extensions": {},
    }


def _read_headers(lines: list[bytes]) -> Headers | None:
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        known = _lower_name(name) if len(name) <= _LONGEST_NAME else None
        if not colon or known is None:
            return None
        headers.append((known, value.strip(b" \t")))
    return headers


@lru_cache(maxsize=512)
def _lower_name(name: bytes) -> bytes | None:
    """Return the name of a header in lower case; None where it decides how a message is read."""
    lower = name.lower()
    return lower if _NAME.fullmatch(name) and lower not in _LEFT_TO_H11 else None


def _is_framed(headers: Headers, rest: int) -> bool:
    """Whether there is one Host, and at most one Content-Length, the length of the rest."""
    hosts, lengths = 0, []
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"content-length":
            lengths.append(value)
    if hosts != 1 or len(lengths) > 1:
        return False
    if not lengths:
        return rest == 0
    length = lengths[0]
    return length.isdigit() and len(length) <= _LENGTH_DIGITS and int(length) == rest


_LOOK: Final = timedelta(milliseconds=50)


class Ending:
    """Whether a server ends, and whether requests still arrive."""

    def __init__(self) -> None:
        self._last_response: float | None = None
        """When it began, on the clock of the loop; None before the end."""

    def begin(self) -> None:
        """End each connection with its next response."""
        self._last_response = asyncio.get_running_loop().time()

    def ends_with_response(self) -> bool:
        """Tell whether the connection ends with the response that begins now."""
        if self._last_response is None:
            return False
        self._last_response = asyncio.get_running_loop().time()
        return True

    async def wait_for_quiet(self, quiet: timedelta, longest: timedelta) -> None:
        """Wait until no response has begun for `quiet`, for `longest` at most."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + longest.total_seconds()
        while (now := loop.time()) < latest:
            if now - (self._last_response or 0.0) >= quiet.total_seconds():
                return
            await asyncio.sleep(_LOOK.total_seconds())


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
