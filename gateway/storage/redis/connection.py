"""Connections to Redis or Valkey: a bounded pool, short time limits, circuit breakers, scripts.

A call takes at most `REPLY` once it has a connection, for which it waits at most `FREE_CONNECTION`,
and which it opens within `CONNECT`. The longest waiting caller gets the next connection; redis-py's
`BlockingConnectionPool` lets new callers overtake, and loses the connection of a caller that is
cancelled while it releases it. After `FAILURES` calls in a row without an answer the breaker opens:
calls fail at once, also waiting ones, and a background task probes the server every `PAUSE`.

`redis://`, `rediss://` and `unix://`, with `user:password@`, and in the query the options of
the client: `db`, `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile`. The URL may hold a password, so no
error quotes it. With an evicting policy a flood of keys would evict lockouts: such a server is
refused. Source: https://redis.io/docs/latest/develop/reference/eviction/

A script reads the time of the server from `microseconds()`, which its prologue defines. The
prologue is part of the script's text: no argument and no key can change the time. Tests construct a
script whose prologue returns a set time.
"""

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final

from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError, NoScriptError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from gateway.domain.errors import FieldError, InvalidInput, StoreUnavailable
from gateway.domain.secrets import Secret

_LAST_LOOK: Final = 0.005
_PARTS: Final = 5
FREE_CONNECTION: Final = timedelta(seconds=1)
"""The longest wait for a connection."""
CONNECT: Final = timedelta(milliseconds=250)
"""The longest time to open one: TLS and authentication included."""


class NoFreeConnection(RedisTimeoutError):
    """Every connection of the pool stayed in use."""


class FairConnectionPool(ConnectionPool):
    """At most `max_connections`, given in the order of callers; belongs to one event loop."""

    def __init__(self, *, max_connections: int, **options: Any) -> None:
        super().__init__(max_connections=max_connections, **options)
        self._free = asyncio.Semaphore(max_connections)

    async def get_connection(self, *_arguments: Any, **_options: Any) -> Any:
        """Return an open connection.

        Raises NoFreeConnection where all stay in use for FREE_CONNECTION, RedisTimeoutError where
        opening one takes longer than CONNECT, and another RedisError where the server refuses it.
        """
        if self._free.locked():
            await self._wait_for_free()
        else:
            await self._free.acquire()
        connection = self.get_available_connection()  # type: ignore[no-untyped-call] # redis-py
        is_open = False
        try:
            with suppress(RedisConnectionError):
                # Unread bytes make a connection unusable.
                is_open = connection.is_connected and not await connection.can_read()
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


FAILURES: Final = 3
"""Unanswered calls in a row that open the breaker."""
PAUSE: Final = timedelta(milliseconds=250)
"""Between two probes, which take no longer than the time limits of connecting and replies."""


class CircuitOpen(RedisConnectionError):
    """The call was refused without a request to the server; `str()` gives the last failure."""


class CircuitBreaker:
    """A server's breaker; `probe` raises RedisError or OSError. Belongs to one event loop."""

    def __init__(self, probe: Callable[[], Awaitable[None]]) -> None:
        self._probe = probe
        self._failures = 0
        self._reason = ""
        self.replied_at = -math.inf
        """When the server answered last, by the clock of the event loop."""
        self._probing: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self._probing is not None

    def require_closed(self) -> None:
        """Raise CircuitOpen while the server does not answer."""
        if self._probing is not None:
            raise CircuitOpen(f"circuit breaker open: {self._reason}")

    def succeeded(self) -> None:
        """Record an answer; an error of the server is one, too."""
        self._failures = 0
        self.replied_at = asyncio.get_running_loop().time()

    def failed(self, failure: Exception) -> None:
        """Record a call without an answer."""
        self._failures += 1
        self._reason = str(failure) or "the server does not answer in time"
        if self._failures >= FAILURES and self._probing is None:
            self._probing = asyncio.create_task(self._probe_until_answered(), name="redis-probe")

    async def close(self) -> None:
        task, self._probing = self._probing, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _probe_until_answered(self) -> None:
        try:
            while True:
                try:
                    # Without a pause first: after a burst of this process the server answers.
                    await self._probe()
                except (RedisError, OSError) as failure:
                    self._reason = str(failure) or self._reason
                else:
                    break
                await asyncio.sleep(PAUSE.total_seconds())
        finally:
            self._failures = 0
            self._probing = None


OLDEST_VERSION = (6, 0)
REPLY: Final = timedelta(milliseconds=500)
"""Scripts touch a bounded number of keys, so that each of them ends well within it."""
_CLOSE: Final = timedelta(seconds=1)
_CONNECTIONS = 32
_LONGEST_REASON = 200
_NOTHING = "rg:nothing"
"""A key that never exists."""
_UNCHECKED = (
    "the server does not show its version and memory policy (INFO is not permitted): make sure"
    " that it is Redis 7.0 or later, or Valkey, with maxmemory-policy noeviction"
)


class RedisClient(Redis):
    """A client with a deadline and a circuit breaker for commands, not for subscriptions."""

    def __init__(self, pool: FairConnectionPool) -> None:
        super().__init__(connection_pool=pool)
        self.auto_close_connection_pool = True
        self._pool = pool
        self.breaker = CircuitBreaker(self._probe)
        self._deadline = REPLY.total_seconds()

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Execute one command; raises RedisError or TimeoutError."""
        self.breaker.require_closed()
        try:
            connection = await self._pool.get_connection()
            try:
                self.breaker.require_closed()
                async with TimeLimit(REPLY):
                    await connection.send_command(*args)
                    answer = await self.parse_response(connection, args[0], **options)
            finally:
                await self._pool.release(connection)
        except CircuitOpen:
            raise
        except NoFreeConnection as failure:
            # A burst of calls is no outage: this wait counts only where no call gets a reply.
            waited = asyncio.get_running_loop().time() - self.breaker.replied_at
            if waited > self._deadline:
                self.breaker.failed(failure)
            raise
        except (RedisConnectionError, RedisTimeoutError, OSError) as failure:
            self.breaker.failed(failure)
            raise
        except RedisError:
            self.breaker.succeeded()
            raise
        self.breaker.succeeded()
        return answer

    async def aclose(self, close_connection_pool: bool | None = None) -> None:  # noqa: FBT001 - as in redis-py
        await self.breaker.close()
        with suppress(TimeoutError):
            async with TimeLimit(_CLOSE):
                await super().aclose(close_connection_pool)

    async def _probe(self) -> None:
        """Send PING on a connection outside the pool, whose connections may all be in use."""
        connection = self.connection_pool.make_connection()  # type: ignore[no-untyped-call] # redis-py
        try:
            async with asyncio.timeout(self._deadline):
                await connection.connect()
                await connection.send_command("PING")
                await connection.read_response()
        finally:
            await connection.disconnect(nowait=True)


def create_client(url: Secret, *, socket_timeout: timedelta | None = None) -> RedisClient:
    """Return a client that connects when first used; raises InvalidInput for a wrong URL.

    `socket_timeout` limits each read and write of subscriptions; commands have a deadline.
    """
    try:
        pool = FairConnectionPool.from_url(
            url.reveal(),
            decode_responses=True,
            protocol=2,
            # A caller that finds all of them in use waits for one: a burst is no outage.
            max_connections=_CONNECTIONS,
            # The pool limits this wait, the client that for a reply. The timers of redis-py would
            # take as long as sending the command.
            socket_connect_timeout=None,
            socket_timeout=None if socket_timeout is None else socket_timeout.total_seconds(),
            # A script may have run although its reply was lost: only callers know what to repeat.
            retry=Retry(NoBackoff(), 0),
        )
        # Created, not opened: a wrong option fails here, not at the first request.
        pool.make_connection()  # type: ignore[no-untyped-call] # redis-py
    except (ValueError, TypeError):
        allowed = "redis://, rediss:// or unix:// with options that the client knows"
        raise InvalidInput((FieldError("redis_url", "another form", allowed),)) from None
    return RedisClient(pool)


@contextmanager
def named_failures() -> Iterator[None]:
    """Turn what the client raises into the product's failure."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise _unavailable(error) from error


def _unavailable(error: Exception) -> StoreUnavailable:
    return StoreUnavailable("redis", reason=str(error)[:_LONGEST_REASON])


async def ping(client: Redis) -> None:
    """Send a write that changes nothing, unlike PING; raises StoreUnavailable."""
    with named_failures():
        await client.set(_NOTHING, "", xx=True)


async def server_time(client: Redis) -> datetime:
    """Return the instant of the server's clock; raises StoreUnavailable."""
    with named_failures():
        seconds, microseconds = await client.time()
    return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=microseconds)


async def check_server(client: Redis) -> tuple[str, ...]:
    """Refuse a server that is too old or evicts keys, with InvalidInput; return warnings."""
    with named_failures():
        try:
            info: dict[str, Any] = await client.info("server") | await client.info("memory")
        except NoPermissionError:
            return (_UNCHECKED,)
    errors = tuple(_unsuitable(info))
    if errors:
        raise InvalidInput(errors)
    return ()


def _unsuitable(info: dict[str, Any]) -> Iterator[FieldError]:
    version = str(info.get("redis_version", "0.0"))
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VERSION:
        yield FieldError("redis server version", version, "6.0 or later")
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        allowed = "noeviction: any other lets a flood of keys push out lockouts and codes"
        yield FieldError("redis maxmemory-policy", policy, allowed)


SERVER_CLOCK: Final = """
local function microseconds()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
"""


class ServerScript:
    """The script `<name>.lua` of this folder in the server that `client` is connected to."""

    prologue: ClassVar = SERVER_CLOCK

    def __init__(self, client: RedisClient, name: str) -> None:
        self._client = client
        self._text = script_text(name, self.prologue)
        self._digest = hashlib.sha1(self._text.encode("ascii"), usedforsecurity=False).hexdigest()

    async def __call__(self, *arguments: str | int) -> Any:
        try:
            try:
                return await self._client.execute_command("EVALSHA", self._digest, 0, *arguments)
            except NoScriptError:
                return await self._client.execute_command("EVAL", self._text, 0, *arguments)
        except (RedisError, OSError) as error:
            raise _unavailable(error) from error


def script_text(name: str, prologue: str = SERVER_CLOCK) -> str:
    """Return the whole text of a script, whose digest Redis knows it by."""
    return prologue + _source("bounded_bytes") + _source(name)


def _source(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text(encoding="ascii")


LoadScript = Callable[[RedisClient, str], ServerScript]
