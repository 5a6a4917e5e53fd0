"""uvicorn on a socket of ours, with the bounds that it does not set itself.

uvicorn reads a head of any size, takes what follows an upgrade that it ignored for another
request, and waits for ever for a client that sends half a request or does not read its answer.
"""

import asyncio
import socket
from contextlib import AbstractContextManager, nullcontext
from time import time
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway.supervisor.answers import REFUSAL, REFUSAL_HEADERS, date_line
from gateway.supervisor.patience import Patience
from gateway.supervisor.serving import LARGEST_HEAD, Application, Serving
from gateway.supervisor.sockets import BACKLOG

_AT_ONCE: Final = 4 * 1024


async def serve(serving: Serving) -> None:
    """Serve until `serving.end` says so, and then for its grace."""
    server = _QuietServer(_configuration(serving))

    async def ask_to_end() -> None:
        await serving.end()
        server.should_exit = True

    async with asyncio.TaskGroup() as group:
        group.create_task(ask_to_end())
        group.create_task(server.serve([serving.listener]))


def _configuration(serving: Serving) -> uvicorn.Config:
    seconds = serving.patience.total_seconds()
    over_tcp = serving.listener.family != socket.AF_UNIX

    class Connection(_Connection):
        patience = seconds

    return uvicorn.Config(
        _NamesPeer(serving.application) if over_tcp else serving.application,
        http=Connection,
        ws="none",
        loop="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=round(seconds) or 1,
        timeout_graceful_shutdown=max(1, round(serving.grace.total_seconds())),
    )


class _QuietServer(uvicorn.Server):
    """A server that leaves the signals to the worker."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override] # theirs is a generator
        """Capture none."""
        return nullcontext()


class _Connection(HttpToolsProtocol):
    """One connection of a client."""

    patience: float

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Begin as uvicorn does."""
        super().__init__(*arguments, **named)
        self._patience = Patience(self.loop, self.patience)
        self._head = 0
        """Bytes since the last part of a body, or message: heads, sizes of chunks, trailers."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as theirs
        """Wait for a request."""
        super().connection_made(transport)
        self._patience.rest()
        self._patience.watch(transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._patience.forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless a head or the trailers of a body become too large."""
        for start in range(0, len(data), _AT_ONCE):
            part = data[start : start + _AT_ONCE]
            self._head += len(part)
            super().data_received(part)
            if self._head > LARGEST_HEAD and not self.transport.is_closing():
                self.send_400_response("")
            if self.transport.is_closing():
                return

    def on_headers_complete(self) -> None:
        """Begin a request; after one that asked for another protocol nothing can be read."""
        super().on_headers_complete()
        if self.parser.should_upgrade():
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Know that what takes time now is ours."""
        self._head = 0
        self._patience.work()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is already here."""
        if not self.pipeline:
            self._patience.rest()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        self._patience.expect_more()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on; what is still to come of the request is waited for as before."""
        if self.cycle is not None and not self.cycle.more_body:
            self._patience.work()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - theirs tells too much
        """Refuse in the words of the other server; within an answer only end."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        headers = (*REFUSAL_HEADERS, (b"date", date_line(int(time()))))
        lines = [b"HTTP/1.1 400 ", *(b"%b: %b" % header for header in headers), b"", REFUSAL]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()


class _NamesPeer:
    """Gives a TCP peer that is already gone an address.

    uvicorn then names none, which is how a unix peer, the trusted proxy, is known.
    """

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["client"] is None:
            scope["client"] = ("0.0.0.0", 0)  # noqa: S104 - the address of nobody
        await self._app(scope, receive, send)
