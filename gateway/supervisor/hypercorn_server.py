"""Hypercorn on a socket of ours, with connections that cost less and that nobody can hold.

A request that arrives whole, as a proxy sends it, is answered at once, in the connection's own
task and in one write; everything else takes Hypercorn's way through h11. Hypercorn itself keeps
the socket of a client that went away until its idle time is up, and waits for ever for one that
sends half a request or does not read its answer.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import MAX_RECV, TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData

from gateway.domain.limits.fair_share import caller_is_gone
from gateway.supervisor.answers import Answer
from gateway.supervisor.http11 import Http11, keep_to_http11
from gateway.supervisor.patience import Patience
from gateway.supervisor.whole_requests import WholeRequest, read_whole_request, scope_of

_LOG: Final = logging.getLogger("hypercorn.error")


async def serve_connections(
    app: Any, config: Config, listener: socket.socket, end: Callable[[], Awaitable[object]]
) -> None:
    """Serve until `end` says so, then let running requests finish for the configured grace."""
    context = WorkerContext(None)
    connections: dict[asyncio.Task[None], _Connection] = {}

    def ended(task: asyncio.Task[None]) -> None:
        del connections[task]
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            _LOG.error("a connection broke", exc_info=failure)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        connection = _Connection(app, loop, config, context, {}, reader, writer)
        task = asyncio.current_task()
        if task is not None:
            connections[task] = connection
            task.add_done_callback(ended)
        await connection

    server = await asyncio.start_server(connected, sock=listener, backlog=config.backlog)
    try:
        await end()
        await context.terminated.set()
        server.close()
        for connection in connections.values():
            connection.end_if_idle()
        if connections:
            await asyncio.wait(set(connections), timeout=config.graceful_timeout)
    finally:
        server.close()
        late = set(connections)
        for task in late:
            connections[task].abort()  # first, or it waits for a client that does not read
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


class _Application(ASGIWrapper):
    """The application; what it leaves unread of a request holds nobody up.

    Hypercorn puts the parts of a request into a short queue, and at the end of an answer waits for
    room in it, for ever if nobody reads any more.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any, *calls: Any) -> None:
        unread: asyncio.Queue[object] = receive.__self__

        def forget() -> None:
            while not unread.empty():
                unread.get_nowait()

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                forget()
            await send(message)

        try:
            await super().__call__(scope, receive, answer, *calls)
        finally:
            forget()


class _Connection(TCPServer):
    """One connection of a client."""

    _http11: Http11

    def __init__(self, application: Any, *parts: Any) -> None:
        """Serve `application`; `parts` as Hypercorn makes its own connections of."""
        super().__init__(_Application(application), *parts)  # type: ignore[arg-type] # its own scopes
        self._application = application
        self._patience = Patience(self.loop, float(self.config.keep_alive_timeout))
        self.idle_task = self._patience  # type: ignore[assignment] # it has what is used of theirs

    def end_if_idle(self) -> None:
        """End a connection that has no request; one that runs ends its connection itself."""
        if self._patience.idle:
            self.abort()

    def abort(self) -> None:
        """Wait for the peer no longer, whether or not it read everything."""
        self.writer.transport.abort()

    async def protocol_send(self, event: Event) -> None:
        """Send what h11 has to say, and wait while the client reads slowly."""
        if isinstance(event, RawData):
            with self._patience.until_read():
                await super().protocol_send(event)
        else:
            if isinstance(event, Closed):
                self._http11.end()
            await super().protocol_send(event)

    async def _read_data(self) -> None:
        self._http11 = keep_to_http11(self.protocol, self._patience)
        self._patience.watch(self.abort)
        # This task serves one connection; what it starts inherits its context.
        caller_is_gone.set(self.reader.at_eof)
        try:
            await self._serve()
            await self.protocol.handle(Closed())
        finally:
            self._patience.forget()

    async def _serve(self) -> None:
        while data := await self._read():
            request = read_whole_request(data) if self._http11.between_requests else None
            if request is not None:
                if not await self._answer(request):
                    break
                continue
            try:
                await self.protocol.handle(RawData(data))
            except ConnectionAbortedError:
                break

    async def _read(self) -> bytes:
        try:
            return await self.reader.read(MAX_RECV)
        except OSError:
            return b""

    async def _answer(self, request: WholeRequest) -> bool:
        """Answer the request; tell whether the connection goes on."""
        self._patience.work()
        answer = Answer(request, self._send)
        try:
            await self._application(
                scope_of(request, self.protocol.client, self.protocol.server),
                answer.receive,
                answer.send,
            )
        finally:
            await answer.finish()
        self._patience.rest()
        return answer.keeps_connection and not self.context.terminated.is_set()

    async def _send(self, data: bytes) -> None:
        """Write; to a client that is gone nothing is said."""
        if self.writer.transport.is_closing():
            return
        with suppress(ConnectionError), self._patience.until_read():
            self.writer.write(data)
            await self.writer.drain()

    async def _close(self) -> None:
        """Close as soon as everything is read, or the patience is over."""
        timer = self.loop.call_later(float(self.config.keep_alive_timeout), self.abort)
        try:
            await super()._close()
        finally:
            timer.cancel()
