"""HTTP/1.1 and nothing it could turn into, with a body in every refusal.

Hypercorn would switch to WebSocket, which nothing here speaks, or to HTTP/2 in the clear, whose
requests a proxy in front does not see. A server may ignore `Upgrade`. Two ways to say how long a
body is are one too many: a proxy might have believed the other.
A folded header line is refused, for a proxy may have read two lines where h11 reads one.
Spec: RFC 9110 §7.8 (Upgrade), RFC 9113 §3.3 (prior knowledge), RFC 9112 §5.2 (line folding), §6.1
(smuggling)
"""

from http import HTTPStatus
from typing import Any, Final

import h11
from h11._receivebuffer import ReceiveBuffer
from hypercorn.asyncio.worker_context import EventWrapper
from hypercorn.events import Closed, Event
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol

from gateway.supervisor.answers import REFUSAL, REFUSAL_HEADERS
from gateway.supervisor.patience import Patience

_UPGRADE: Final = b"upgrade"


class _Turn(EventWrapper):
    """When the next request may be read; never, once the connection is over.

    Hypercorn would let a request that came behind a broken answer wait for ever.
    """

    over = False

    async def wait(self) -> None:
        """Wait for its turn; raises ConnectionAbortedError if that will not come."""
        if not self.over:
            await super().wait()
        if self.over:
            raise ConnectionAbortedError

    def end(self) -> None:
        """Let nobody wait any more."""
        self.over = True
        self._event.set()


class _UnfoldedLines(ReceiveBuffer):
    """What was received; a head or trailers with a folded line are refused."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines up to an empty one, None until that has come."""
        lines: list[bytearray] | None = super().maybe_extract_lines()
        if lines and any(line.startswith((b" ", b"\t")) for line in lines):
            raise h11.LocalProtocolError("a folded header line")
        return lines


class Http11(H11Protocol):
    """The requests and answers of one connection."""

    def __init__(self, patience: Patience, *parts: Any) -> None:
        """Read with `patience` what comes in pieces."""
        super().__init__(*parts)
        # h11 has no option for it.
        self.connection._receive_buffer = _UnfoldedLines()  # type: ignore[union-attr] # noqa: SLF001
        self._turn = self.can_read = _Turn()
        self._patience = patience

    @property
    def between_requests(self) -> bool:
        """Tell whether what comes next is the first of a request."""
        connection = self.connection
        return (
            connection.their_state is h11.IDLE
            and connection.our_state is h11.IDLE
            and not connection.trailing_data[0]
        )

    async def handle(self, event: Event) -> None:
        """Read on, or end."""
        if isinstance(event, Closed):
            self.end()
        await super().handle(event)
        if self.connection.their_state is h11.SEND_BODY:
            self._patience.expect_more()
        elif not self._patience.idle:
            self._patience.work()

    def end(self) -> None:
        """Let no request wait for its turn any more."""
        self._turn.end()

    async def _check_protocol(self, event: h11.Request) -> None:
        """Stay with HTTP/1.1."""

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

    async def _send_error_response(self, status_code: int) -> None:
        headers = [*REFUSAL_HEADERS, *self.config.response_headers("h11")]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=headers))
        await self._send_h11_event(h11.Data(data=REFUSAL))
        await self._send_h11_event(h11.EndOfMessage())


def _size(request: h11.Request) -> int:
    """Return the bytes of a head; h11 bounds only what is not whole yet."""
    lines = sum(len(name) + len(value) + len(": \r\n") for name, value in request.headers)
    return len(request.target) + lines


def keep_to_http11(connection: ProtocolWrapper, patience: Patience) -> Http11:
    """Give a new connection this protocol instead of Hypercorn's own."""
    protocol = Http11(
        patience,
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
