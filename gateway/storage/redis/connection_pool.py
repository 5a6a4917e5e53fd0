"""A bounded pool of connections to Redis: the longest waiting caller gets the next one.

redis-py's `BlockingConnectionPool` lets a new caller take the connection for which a waiting one
was woken, which then waits behind all others. It also loses the connection of a caller that is
cancelled while it releases the connection.
"""

import asyncio
from datetime import timedelta
from types import TracebackType
from typing import Any, Final

from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

_LAST_LOOK: Final = 0.005
_PARTS: Final = 5
FREE_CONNECTION: Final = timedelta(seconds=1)
"""The longest wait for a connection."""
CONNECT: Final = timedelta(milliseconds=250)
"""The longest time to open one: TLS and authentication included."""


class NoFreeConnection(RedisTimeoutError):
    """Every connection of the pool stayed in use."""


class FairConnectionPool(ConnectionPool):
    """At most `max_connections` connections, given to callers in the order in which they ask.

    Belongs to one event loop.
    """

    def __init__(self, *, max_connections: int, **options: Any) -> None:
        super().__init__(max_connections=max_connections, **options)
        self._free = asyncio.Semaphore(max_connections)

    async def get_connection(self, *_arguments: Any, **_options: Any) -> Any:
        """Return an open connection.

        Raises NoFreeConnection where all stay in use for FREE_CONNECTION, RedisTimeoutError where
        opening one takes longer than CONNECT, and another RedisError where the server refuses it.
        """
        await self._wait_for_free()
        connection = self.get_available_connection()  # type: ignore[no-untyped-call] # redis-py
        is_open = False
        try:
            is_open = await _is_open(connection)
            if not is_open:
                await self._open(connection)
                is_open = True
        finally:
            if not is_open:
                await self.release(connection)
        return connection

    async def release(self, connection: AbstractConnection) -> None:
        """Release a connection. Does not wait, so a cancelled caller does not lose it."""
        self._in_use_connections.remove(connection)
        self._available_connections.append(connection)
        self._free.release()

    async def _wait_for_free(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            async with TimeLimit(FREE_CONNECTION):
                await self._free.acquire()
        except TimeoutError as error:
            raise NoFreeConnection("every connection is in use") from error

    async def _open(self, connection: AbstractConnection) -> None:
        try:
            async with TimeLimit(CONNECT):
                await self.ensure_connection(connection)
        except TimeoutError as error:
            await connection.disconnect(nowait=True)
            raise RedisTimeoutError("the server accepts no connection in time") from error


async def _is_open(connection: AbstractConnection) -> bool:
    """Return whether a command can be sent: unread bytes make a connection unusable."""
    try:
        return connection.is_connected and not await connection.can_read()
    except RedisConnectionError:
        return False


class TimeLimit:
    """Raises TimeoutError where the block takes longer than `limit`, unless the process is busy.

    While the event loop is blocked, replies stay unread. So time passes in parts, each of which
    begins when the event loop runs: of the time in which it is blocked, at most one part counts.
    """

    __slots__ = ("_deadline", "_left", "_loop", "_part", "_timer")
    _timer: asyncio.TimerHandle

    def __init__(self, limit: timedelta) -> None:
        self._loop = asyncio.get_running_loop()
        self._deadline = asyncio.timeout(None)
        self._part = limit.total_seconds() / _PARTS
        self._left = _PARTS

    async def __aenter__(self) -> None:
        await self._deadline.__aenter__()
        self._timer = self._loop.call_later(self._part, self._end_part)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        await self._deadline.__aexit__(kind, error, traceback)

    def _end_part(self) -> None:
        self._left -= 1
        if self._left:
            self._timer = self._loop.call_later(self._part, self._end_part)
        else:
            # Read the sockets once more: the reply may be there already.
            self._deadline.reschedule(self._loop.time() + _LAST_LOOK)
