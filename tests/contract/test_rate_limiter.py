"""Counts of what anonymous callers do, in Redis. attacks: D10."""

from collections.abc import AsyncIterator
from typing import Final

import pytest

from gateway.domain.limits.rate_limits import RateLimit
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.rate_limiter import RedisRateLimiter
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.anyio
LIMIT: Final = RateLimit("test", of_caller=2, of_realm=4)


@pytest.fixture
async def limiter(redis_server: RedisServer) -> AsyncIterator[RedisRateLimiter]:
    client = create_client(redis_server.url)
    yield RedisRateLimiter(client)
    await client.aclose()


async def _admitted(limiter: RedisRateLimiter, realm: str, caller: str, times: int) -> list[bool]:
    return [await limiter.admit(realm, caller, LIMIT) for _ in range(times)]


async def test_a_caller_and_a_realm_have_a_limit(limiter: RedisRateLimiter) -> None:
    assert await _admitted(limiter, "limited", "ada", 3) == [True, True, False]
    assert await _admitted(limiter, "limited", "bob", 3) == [True, True, False]
    assert await _admitted(limiter, "limited", "cleo", 1) == [False]
    assert await _admitted(limiter, "other", "ada", 1) == [True]


async def test_one_caller_does_not_use_up_the_limit_of_the_realm(
    limiter: RedisRateLimiter,
) -> None:
    """Nobody else could recover an account or register otherwise."""
    assert (await _admitted(limiter, "attacked", "script", 20)).count(True) == LIMIT.of_caller
    assert await _admitted(limiter, "attacked", "ada", 1) == [True]
