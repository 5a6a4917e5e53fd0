"""A connection to Redis or Valkey: short waits, clear failures, and no server that evicts.

`redis://`, `rediss://` and `unix://`, with `user:password@`, and in the query what the client
knows: `db`, `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile`. The URL may hold a password, so no
error quotes it. With an evicting policy a flood of keys would push out lockouts: such a server
is refused. Source: https://redis.io/docs/latest/develop/reference/eviction/
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError, RedisError

from gateway.domain.errors import FieldError, InvalidInput, StoreUnavailable
from gateway.domain.secrets import Secret

OLDEST_VERSION = (6, 0)
_CONNECT = timedelta(seconds=1)
_ANSWER = timedelta(seconds=1)
_CONNECTIONS = 32
_LONGEST_REASON = 200
_NOTHING = "rg:nothing"
"""A key that never exists."""
_UNCHECKED = (
    "the server does not tell its version and memory policy (INFO is not permitted): make sure"
    " that it is Redis 6 or later, or Valkey, with maxmemory-policy noeviction"
)


def create_client(url: Secret, answer: timedelta = _ANSWER) -> Redis:
    """Return a client that connects when first used; raises InvalidInput for a wrong URL."""
    try:
        pool = BlockingConnectionPool.from_url(
            url.reveal(),
            decode_responses=True,
            protocol=2,
            # Who finds all of them in use waits for one: a burst is no outage.
            max_connections=_CONNECTIONS,
            timeout=answer.total_seconds(),
            socket_connect_timeout=_CONNECT.total_seconds(),
            socket_timeout=answer.total_seconds(),
            # A script may have run although its answer was lost: only callers know what to repeat.
            retry=Retry(NoBackoff(), 0),
        )
        # Made and not opened: a wrong option shows itself here, not at the first request.
        pool.make_connection()  # type: ignore[no-untyped-call] # redis-py
    except (ValueError, TypeError):
        allowed = "redis://, rediss:// or unix:// with options that the client knows"
        raise InvalidInput((FieldError("redis_url", "another form", allowed),)) from None
    return Redis.from_pool(pool)


@contextmanager
def named_failures() -> Iterator[None]:
    """Turn what the client raises into the product's failure."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise StoreUnavailable("redis", reason=str(error)[:_LONGEST_REASON]) from error


async def ping(client: Redis) -> None:
    """Ask for a write that changes nothing; raises StoreUnavailable.

    A server that is full, cannot save or has become a replica answers, and counts no failure.
    """
    with named_failures():
        await client.set(_NOTHING, "", xx=True)


async def check_server(client: Redis) -> tuple[str, ...]:
    """Refuse a server that is too old or evicts keys, with InvalidInput; return warnings."""
    with named_failures():
        try:
            told: dict[str, Any] = await client.info("server") | await client.info("memory")
        except NoPermissionError:
            return (_UNCHECKED,)
    errors = tuple(_unsuitable(told))
    if errors:
        raise InvalidInput(errors)
    return ()


def _unsuitable(told: dict[str, Any]) -> Iterator[FieldError]:
    version = str(told.get("redis_version", "0.0"))
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VERSION:
        yield FieldError("redis server version", version, "6.0 or later")
    policy = str(told.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        allowed = "noeviction: any other lets a flood of keys push out lockouts and codes"
        yield FieldError("redis maxmemory-policy", policy, allowed)
