"""A connection to Redis or Valkey, with short time limits, to servers that do not evict.

A call takes at most `REPLY` once it has a connection, for which it waits at most `FREE_CONNECTION`,
and which it opens within `CONNECT`.
Each pool has a circuit breaker: while the server does not answer, calls fail at once, also those
that wait for a connection.

`redis://`, `rediss://` and `unix://`, with `user:password@`, and in the query the options of
the client: `db`, `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile`. The URL may hold a password, so no
error quotes it. With an evicting policy a flood of keys would evict lockouts: such a server is
refused. Source: https://redis.io/docs/latest/develop/reference/eviction/
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from gateway.domain.errors import FieldError, InvalidInput, StoreUnavailable
from gateway.domain.secrets import Secret
from gateway.storage.redis.circuit_breaker import CircuitBreaker, CircuitOpen
from gateway.storage.redis.connection_pool import FairConnectionPool, NoFreeConnection, TimeLimit

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
    " that it is Redis 6 or later, or Valkey, with maxmemory-policy noeviction"
)


class RedisClient(Redis):
    """A client whose every command has a deadline and goes through the pool's circuit breaker.

    Subscriptions hold a connection of their own and wait for messages as long as they say.
    """

    def __init__(self, pool: FairConnectionPool) -> None:
        super().__init__(connection_pool=pool)
        self.auto_close_connection_pool = True
        self._pool = pool
        self.breaker = CircuitBreaker(self._probe)
        self._deadline = REPLY.total_seconds()
        self._replied_at = -math.inf

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Execute one command; raises RedisError or TimeoutError."""
        self.breaker.require_closed()
        loop = asyncio.get_running_loop()
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
            if loop.time() - self._replied_at > self._deadline:
                self.breaker.failed(failure)
            raise
        except (RedisConnectionError, RedisTimeoutError, OSError) as failure:
            self.breaker.failed(failure)
            raise
        except RedisError:
            self._succeeded(loop)
            raise
        self._succeeded(loop)
        return answer

    def _succeeded(self, loop: asyncio.AbstractEventLoop) -> None:
        self._replied_at = loop.time()
        self.breaker.succeeded()

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

    `socket_timeout` limits each read and write, for subscriptions: commands have their deadline.
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
        raise StoreUnavailable("redis", reason=str(error)[:_LONGEST_REASON]) from error


async def ping(client: Redis) -> None:
    """Send a write that changes nothing; raises StoreUnavailable.

    A server that is full, cannot save or has become a replica answers PING, but refuses writes.
    """
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
