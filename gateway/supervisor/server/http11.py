"""HTTP/1.1 without upgrades, and a JSON body in every refusal.

Hypercorn would switch to WebSocket, which the gateway does not support, or to HTTP/2 in the clear,
whose requests a proxy in front does not see. A server may ignore `Upgrade`. A request with both
`Content-Length` and `Transfer-Encoding` is refused: a proxy may have used the other one.
A folded header line is refused: a proxy may have read two lines where h11 reads one.
Spec: RFC 9110 §7.8 (Upgrade), RFC 9113 §3.3 (prior knowledge), RFC 9112 §5.2 (line folding), §6.1
(smuggling), §9.6 (closing)
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

import h11
from h11._receivebuffer import ReceiveBuffer
from hypercorn.asyncio.worker_context import EventWrapper
from hypercorn.events import Closed, Event
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol, H11SendableEvent

from gateway.supervisor.server.whole_requests import REASONS, REFUSAL, REFUSAL_HEADERS, Ending


class PeerTimeout:
    """Ends a connection that waits too long for its peer, in place of Hypercorn's idle task."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._since: float | None = None
        self._on_timeout: Callable[[], None] = lambda: None
        self._timer: asyncio.TimerHandle | None = None
        self.idle = False
        """Whether the connection waits for a request."""

    def start(self, on_timeout: Callable[[], None]) -> None:
        self._on_timeout = on_timeout
        self._timer = self._loop.call_later(self._seconds, self._check)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def restart(self, task_group: object, action: object) -> None:  # noqa: ARG002 - Hypercorn's
        self.wait_for_request()

    async def stop(self) -> None:
        self.pause()

    def wait_for_request(self) -> None:
        """Wait for a request from now on."""
        self.idle, self._since = True, self._loop.time()

    def pause(self) -> None:
        """Wait for nothing: the application works."""
        self.idle, self._since = False, None

    def wait_for_rest(self) -> None:
        """Wait for the rest of a request, counted from when its first part was awaited."""
        if self._since is None:
            self._since = self._loop.time()

    @contextmanager
    def waiting_for_reader(self) -> Iterator[None]:
        """Wait for the peer to read, within the block."""
        before, self._since = self._since, self._loop.time()
        try:
            yield
        finally:
            self._since = before

    def _check(self) -> None:
        now = self._loop.time()
        due = (now if self._since is None else self._since) + self._seconds
        if due <= now:
            self._on_timeout()
        else:
            self._timer = self._loop.call_at(due, self._check)


_UPGRADE: Final = b"upgrade"
_CLOSE: Final = (b"connection", b"close")


class _ReadPermission(EventWrapper):
    """Set when the next request may be read; waiting fails once the connection is closed.

    In Hypercorn a request behind a response that failed would wait forever.
    """

    closed = False

    async def wait(self) -> None:
        """Wait until set; raises ConnectionAbortedError if the connection is closed."""
        if not self.closed:
            await super().wait()
        if self.closed:
            raise ConnectionAbortedError

    def close(self) -> None:
        self.closed = True
        self._event.set()


class _UnfoldedLines(ReceiveBuffer):
    """h11's receive buffer, which refuses a head or trailers with a folded line."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines up to an empty one, None until it arrived."""
        lines: list[bytearray] | None = super().maybe_extract_lines()
        if lines and any(line.startswith((b" ", b"\t")) for line in lines):
            raise h11.LocalProtocolError("a folded header line")
        return lines


class Http11(H11Protocol):
    """The requests and answers of one connection."""

    def __init__(self, peer_timeout: PeerTimeout, ending: Ending, *parts: Any) -> None:
        super().__init__(*parts)
        self._ending = ending
        # h11 has no option for this.
        self.connection._receive_buffer = _UnfoldedLines()  # type: ignore[union-attr] # noqa: SLF001
        self._permission = self.can_read = _ReadPermission()
        self._peer_timeout = peer_timeout

    @property
    def between_requests(self) -> bool:
        """Whether the next byte is the first of a request."""
        connection = self.connection
        return (
            connection.their_state is h11.IDLE
            and connection.our_state is h11.IDLE
            and not connection.trailing_data[0]
        )

    @property
    def within_request(self) -> bool:
        """Whether a part of a request has not arrived or was not parsed."""
        return self.connection.their_state in {h11.SEND_BODY, h11.ERROR}

    async def handle(self, event: Event) -> None:
        if isinstance(event, Closed):
            self.close()
        await super().handle(event)
        if self.connection.their_state is h11.SEND_BODY:
            self._peer_timeout.wait_for_rest()
        elif not self._peer_timeout.idle:
            self._peer_timeout.pause()

    def close(self) -> None:
        self._permission.close()

    async def _check_protocol(self, event: h11.Request) -> None:
        """Accept no upgrade and no HTTP/2."""

    async def _create_stream(self, request: h11.Request) -> None:
        names = {name for name, _ in request.headers}
        refused = None
        if {b"content-length", b"transfer-encoding"} <= names:
            refused = HTTPStatus.BAD_REQUEST
        elif _size(request) > self.config.h11_max_incomplete_size:
            refused = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        if refused is not None:
            await self._send_error_response(refused)
            await self.send(Closed())
            return
        if _UPGRADE in names:
            request = h11.Request(
                method=request.method,
                target=request.target,
                headers=[(name, value) for name, value in request.headers if name != _UPGRADE],
                http_version=request.http_version,
            )
        await super()._create_stream(request)

    async def _send_h11_event(self, event: H11SendableEvent) -> None:
        if isinstance(event, h11.Response):
            headers = list(event.headers)
            # The connection ends with this response: a client must not reuse it.
            ends = self._ending.ends_with_response() or self.within_request
            if ends and _CLOSE not in headers:
                headers.append(_CLOSE)
            event = h11.Response(
                status_code=event.status_code,
                headers=headers,
                http_version=event.http_version,
                reason=REASONS.get(event.status_code, b""),
            )
        await super()._send_h11_event(event)

    async def _send_error_response(self, status_code: int) -> None:
        headers = [*REFUSAL_HEADERS, *self.config.response_headers("h11")]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=headers))
        await self._send_h11_event(h11.Data(data=REFUSAL))
        await self._send_h11_event(h11.EndOfMessage())


def _size(request: h11.Request) -> int:
    """Return the bytes of a head; h11 limits only a head that is incomplete."""
    lines = sum(len(name) + len(value) + len(": \r\n") for name, value in request.headers)
    return len(request.target) + lines


def use_http11(connection: ProtocolWrapper, peer_timeout: PeerTimeout, ending: Ending) -> Http11:
    """Replace the protocol that Hypercorn chose for a new connection."""
    protocol = Http11(
        peer_timeout,
        ending,
        connection.app,
        connection.config,
        connection.context,
        connection.task_group,
        connection.state,
        connection.ssl,
        connection.client,
        connection.server,
        connection.send,
    )
    connection.protocol = protocol
    return protocol
