"""Accepts the connections of a listening socket, and lets an end lose none of them.

asyncio's server stops accepting when it closes, while the kernel goes on: connections that arrive
until the last process has closed the socket wait in its queue with their requests, and are reset
then. A proxy answers 502 to each such request that it must not send again.
Source: attacks F14
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

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

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Acceptor:
    """Accepts connections until it is closed, or until the listener refuses them."""

    def __init__(self, listener: socket.socket, connected: Connected) -> None:
        """Accept from now on; `connected` serves one connection, in a task of its own."""
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
