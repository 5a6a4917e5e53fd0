"""Hypercorn on a socket that the supervisor opened, with cheaper connections and more time limits.

A request that arrives whole, as a proxy sends it, is answered at once, in the connection's own
task and in one write; Hypercorn answers all others through h11. Hypercorn itself keeps the socket
of a client that went away until its keep-alive time is over, and waits forever for a client that
sends half a request or does not read the response.

An end loses no accepted connection. asyncio's server stops accepting when it closes, while the
kernel continues: connections that arrive until the last process has closed the socket wait in its
queue with their requests, and are reset then. A proxy answers 502 to each such request that it must
not send again. Source: attacks F14
"""

import asyncio
import errno
import fcntl
import logging
import socket
import sys
import termios
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import MAX_RECV, TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData

from gateway.domain.limits.fair_share import caller_is_gone
from gateway.supervisor.server.http11 import Http11, PeerTimeout, use_http11
from gateway.supervisor.server.whole_requests import (
    Ending,
    ResponseWriter,
    WholeRequest,
    read_whole_request,
    scope_of,
)

_LOG: Final = logging.getLogger("hypercorn.error")
_AT_ONCE: Final = 64
"""Connections that are accepted before other work goes on."""
_TIRED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_OF_CONNECTION: Final = frozenset(
    {errno.EPERM, errno.EPROTO, errno.ENOPROTOOPT, errno.EOPNOTSUPP}
    | {errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENONET}
)
"""Failures of one new connection, which Linux reports at `accept`. Source: accept(2)"""
_REST: Final = timedelta(seconds=1)
"""Pause of accepting while the system has no file or no memory for a connection."""

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


class Acceptor:
    """Accepts connections until it is closed, or until the listener refuses them."""

    def __init__(self, listener: socket.socket, connected: Connected) -> None:
        """Accept from now on; `connected` makes the task that serves a connection."""
        self._listener = listener
        self._connected = connected
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[None]] = set()
        self._rest: asyncio.TimerHandle | None = None
        self._closed = False
        listener.setblocking(False)
        self._accept_from_now_on()

    async def finish(self) -> None:
        """Accept no more in this process, and hand over the connections that were accepted."""
        self.close()
        await asyncio.gather(*self._opening)

    def close(self) -> None:
        """Accept no more in this process."""
        if self._closed:
            return
        self._closed = True
        if self._rest is None:
            self._loop.remove_reader(self._listener)
        else:
            self._rest.cancel()
        self._listener.close()

    def _accept_from_now_on(self) -> None:
        self._rest = None
        self._loop.add_reader(self._listener, self._accept_waiting)

    def _accept_waiting(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as failure:
                if failure.errno in _OF_CONNECTION:
                    continue
                self._on_failure(failure)
                return
            connection.setblocking(False)
            task = self._loop.create_task(self._open(connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket) -> None:
        reader = asyncio.StreamReader(loop=self._loop)
        protocol = asyncio.StreamReaderProtocol(reader, self._connected, loop=self._loop)
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, connection)
        except OSError:
            connection.close()

    def _on_failure(self, failure: OSError) -> None:
        if failure.errno in _TIRED:
            _LOG.error("cannot accept connections: %s", failure.strerror)
            self._loop.remove_reader(self._listener)
            self._rest = self._loop.call_later(_REST.total_seconds(), self._accept_from_now_on)
        else:
            # The supervisor has refused further connections, and the queue is empty.
            self.close()


_UNLIMITED: Final = 1 << 62
_LONGEST_DISCARD: Final = timedelta(seconds=2)
"""Time for a proxy to read the response and close."""
KEEP_ALIVE: Final = timedelta(seconds=120)
"""Longer than any proxy's pool keeps a connection, or the proxy would send a POST into a closing
one and answer 502 (nginx keeps idle upstream connections for 60 s)."""
LARGEST_HEAD: Final = 64 * 1024
"""Bytes of a request's head; a larger one is refused with 400 or 431."""


@dataclass(frozen=True, slots=True)
class Serving:
    """One ASGI application on one socket until `end` returns; then `grace` to finish."""

    application: Any
    listener: socket.socket
    end: Callable[[], Awaitable[object]]
    grace: timedelta
    peer_timeout: timedelta = KEEP_ALIVE
    """How long it waits for a peer: for a request, the rest of one, or to read the response."""
    notice: timedelta = timedelta(milliseconds=100)
    """Time to accept connections at the end, and pause before idle ones are closed."""


async def serve(serving: Serving) -> None:
    """Serve until `serving.end` returns, then let running requests finish for its grace."""
    config = _configuration(serving)
    context = WorkerContext(None)
    ending = Ending()
    connections: dict[asyncio.Task[None], _Connection] = {}

    def ended(task: asyncio.Task[None]) -> None:
        connections.pop(task, None)
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            _LOG.error("a connection broke", exc_info=failure)

    async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        connection = _Connection(
            serving.application, ending, *(loop, config, context, {}, reader, writer)
        )
        task = asyncio.current_task()
        if task is not None:
            connections[task] = connection
        await connection

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Since Python 3.12 asyncio reports the failure of a task that it made itself once more.
        task = asyncio.get_running_loop().create_task(serve_connection(reader, writer))
        task.add_done_callback(ended)

    acceptor = Acceptor(serving.listener, connected)
    try:
        await serving.end()
        ending.begin()
        await asyncio.sleep(serving.notice.total_seconds())
        await acceptor.finish()
        await ending.wait_for_quiet(serving.notice, serving.grace / 2)
        await context.terminated.set()
        for connection in connections.values():
            connection.end_if_idle()
        if connections:
            await asyncio.wait(set(connections), timeout=config.graceful_timeout)
    finally:
        acceptor.close()
        late = set(connections)
        for task in late:
            connections[task].abort()  # first, or the task waits for a client that does not read
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


def _configuration(serving: Serving) -> Config:
    config = Config()
    config.keep_alive_timeout = serving.peer_timeout.total_seconds()
    config.keep_alive_max_requests = _UNLIMITED
    config.graceful_timeout = serving.grace.total_seconds()
    config.h11_max_incomplete_size = LARGEST_HEAD
    config.include_server_header = False
    config.accesslog = None
    config.errorlog = _LOG
    return config


class _Application(ASGIWrapper):
    """The application, with the parts of a request that it does not read dropped.

    Hypercorn puts the parts of a request into a short queue, and at the end of a response waits
    for room in it, forever if the application reads no more.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any, *calls: Any) -> None:
        unread: asyncio.Queue[object] = receive.__self__

        def drop_unread() -> None:
            while not unread.empty():
                unread.get_nowait()

        async def send_to_client(message: Any) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                drop_unread()
            await send(message)

        try:
            await super().__call__(scope, receive, send_to_client, *calls)
        finally:
            drop_unread()


class _Connection(TCPServer):
    """One connection of a client."""

    _http11: Http11

    def __init__(self, application: Any, ending: Ending, *parts: Any) -> None:
        """Serve `application`; `parts` are the other arguments of Hypercorn's TCPServer."""
        super().__init__(_Application(application), *parts)  # type: ignore[arg-type] # its own scopes
        self._ending = ending
        self._application = application
        self._peer_timeout = PeerTimeout(self.loop, float(self.config.keep_alive_timeout))
        self._has_used_h11 = False
        self._discards = False
        self._discard_timer: asyncio.TimerHandle | None = None
        self.idle_task = self._peer_timeout  # type: ignore[assignment] # has the methods that are called

    def end_if_idle(self) -> None:
        """Close the connection if no request runs or arrives; else it closes at the end."""
        if self._peer_timeout.idle and not self._has_begun_request():
            self.abort()

    def _has_begun_request(self) -> bool:
        return not self._http11.between_requests or self._has_unread_bytes()

    def _has_unread_bytes(self) -> bool:
        descriptor = self.writer.get_extra_info("socket").fileno()
        unread = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
        return int.from_bytes(unread, sys.byteorder) > 0

    def abort(self) -> None:
        """Close the connection at once, whether or not the peer read everything."""
        self.writer.transport.abort()

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, RawData):
            with self._peer_timeout.waiting_for_reader():
                await super().protocol_send(event)
        else:
            if isinstance(event, Closed):
                has_rest = self._http11.within_request
                self._http11.close()
                if has_rest:
                    self._discard_rest()
                    return
            await super().protocol_send(event)

    def _discard_rest(self) -> None:
        """End our side, and drop what the peer still sends until it closes or its time is over.

        Closing a socket with unread bytes resets it: the peer would lose the response, and a proxy
        would answer 502. Spec: RFC 9112 §9.6
        """
        self._discards = True
        self._peer_timeout.pause()
        with suppress(OSError, RuntimeError):
            self.writer.write_eof()
        seconds = min(_LONGEST_DISCARD.total_seconds(), float(self.config.keep_alive_timeout))
        self._discard_timer = self.loop.call_later(seconds, self.abort)

    async def _read_data(self) -> None:
        self._http11 = use_http11(self.protocol, self._peer_timeout, self._ending)
        self._peer_timeout.start(self.abort)
        # This task serves one connection; tasks it starts inherit its context.
        caller_is_gone.set(self.reader.at_eof)
        try:
            await self._serve()
            await self.protocol.handle(Closed())
        finally:
            self._peer_timeout.cancel()
            if self._discard_timer is not None:
                self._discard_timer.cancel()

    async def _serve(self) -> None:
        while data := await self._receive_bytes():
            if self._discards:
                continue
            is_between = not self._has_used_h11 or self._http11.between_requests
            request = read_whole_request(data) if is_between else None
            if request is not None:
                if not await self._answer(request):
                    break
                continue
            self._has_used_h11 = True
            try:
                await self.protocol.handle(RawData(data))
            except ConnectionAbortedError:
                if not self._discards:
                    break

    async def _receive_bytes(self) -> bytes:
        try:
            return await self.reader.read(MAX_RECV)
        except OSError:
            return b""

    async def _answer(self, request: WholeRequest) -> bool:
        """Answer the request; return whether the connection stays open."""
        self._peer_timeout.pause()
        response = ResponseWriter(request, self._send, self._ending)
        try:
            await self._application(
                scope_of(request, self.protocol.client, self.protocol.server),
                response.receive,
                response.send,
            )
        finally:
            await response.finish()
        self._peer_timeout.wait_for_request()
        return response.keeps_connection and not self.context.terminated.is_set()

    async def _send(self, data: bytes) -> None:
        """Write, unless the client is gone; wait for it only where the socket takes no more."""
        transport = self.writer.transport
        if transport.is_closing():
            return
        transport.write(data)
        if transport.get_write_buffer_size():
            with suppress(ConnectionError), self._peer_timeout.waiting_for_reader():
                await self.writer.drain()

    async def _close(self) -> None:
        """Close as soon as the client read everything, or its time is over."""
        timer = self.loop.call_later(float(self.config.keep_alive_timeout), self.abort)
        try:
            await super()._close()
        finally:
            timer.cancel()
