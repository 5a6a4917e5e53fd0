"""Hypercorn on a socket of ours, with connections that cost less between and after requests.

Hypercorn itself starts a task for every pause between two requests and cancels it at the next, and
keeps the socket of a client that went away until that task's time is up. It also writes head and
body of an answer apart, which wakes the proxy twice. Here one task watches over a connection for
as long as it lives, and what belongs to one answer leaves in one write.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData

from gateway.supervisor.http11 import keep_to_http11

_HELD_BACK = 64 * 1024
"""Bytes that wait at most, here and in the transport, before the application waits with them."""


async def serve_connections(
    app: Any, config: Config, listener: socket.socket, end: Callable[[], Awaitable[object]]
) -> None:
    """Serve until `end` says so, then let running requests finish for the configured grace."""
    context = WorkerContext(None)
    wrapper = _Application(app)
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            connections.add(task)
            task.add_done_callback(connections.discard)
        await _Connection(wrapper, asyncio.get_running_loop(), config, context, {}, reader, writer)

    server = await asyncio.start_server(connected, sock=listener, backlog=config.backlog)
    await end()
    await context.terminated.set()
    server.close()
    if connections:
        _, late = await asyncio.wait(set(connections), timeout=config.graceful_timeout)
        for task in late:
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


class _Idleness:
    """Since when a connection waits for a request; Hypercorn calls it where it had a task."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.since: float | None = None

    async def restart(self, task_group: object, action: object) -> None:  # noqa: ARG002 - theirs
        """Note that the connection became idle."""
        self.since = self._loop.time()

    async def stop(self) -> None:
        """Note that it is no longer."""
        self.since = None


class _Connection(TCPServer):
    """One connection of a client."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._idleness = _Idleness(self.loop)
        self.idle_task = self._idleness  # type: ignore[assignment] # it has what is used of theirs
        self._unwritten: list[bytes] = []

    async def protocol_send(self, event: Event) -> None:
        """Hold data back until the answer is whole, or this turn of the loop is over."""
        if not isinstance(event, RawData):
            self._write()
            await super().protocol_send(event)
            return
        if not self._unwritten:
            self.loop.call_soon(self._write)
        self._unwritten.append(event.data)
        waiting = self.writer.transport.get_write_buffer_size()
        if waiting + sum(map(len, self._unwritten)) > _HELD_BACK:
            self._write()
            await super().protocol_send(RawData(b""))  # waits while the client reads slowly

    async def _read_data(self) -> None:
        keep_to_http11(self.protocol)
        watch = self._task_group._task_group.create_task(self._close_when_idle())  # noqa: SLF001
        try:
            await super()._read_data()
        finally:
            watch.cancel()  # or the group would wait for it, and the socket stay open

    async def _close(self) -> None:
        self._write()
        await super()._close()

    async def _close_when_idle(self) -> None:
        while not self.context.terminated.is_set():
            try:
                await asyncio.wait_for(self.context.terminated.wait(), self._time_left())
            except TimeoutError:
                if self._idleness.since is not None and self._time_left() <= 0:
                    break
        # A request that still runs ends its connection itself: it knows of the termination.
        if self._idleness.since is not None:
            await asyncio.shield(self._initiate_server_close())

    def _time_left(self) -> float:
        now = self.loop.time()
        since = now if self._idleness.since is None else self._idleness.since
        return since + float(self.config.keep_alive_timeout) - now

    def _write(self) -> None:
        data, self._unwritten = b"".join(self._unwritten), []
        if not data:
            return
        try:
            self.writer.write(data)
        except (ConnectionError, RuntimeError):
            self._task_group.spawn(self.protocol.handle, Closed())
