"""Limits of what callers without an account may do, counted in a real Redis. attacks: D10."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

import pytest

from gateway.domain.limits.rate_limits import RateLimit
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.rate_limiter import RedisRateLimiter
from tests.support.redis_server import RedisServer

_LIMIT: Final = RateLimit("rate-test", of_caller=2, of_realm=4)


@pytest.fixture
async def limiter(redis_server: RedisServer) -> AsyncIterator[RedisRateLimiter]:
    client = create_client(redis_server.url)
    yield RedisRateLimiter(client)
    await client.aclose()


async def test_a_caller_beyond_the_limit_is_refused(limiter: RedisRateLimiter) -> None:
    admitted = [await limiter.admit("one-caller", "192.0.2.1", _LIMIT) for _ in range(3)]
    assert admitted == [True, True, False]


async def test_one_caller_does_not_use_up_the_limit_of_the_realm(limiter: RedisRateLimiter) -> None:
    for _ in range(10):
        await limiter.admit("two-callers", "192.0.2.1", _LIMIT)
    assert await limiter.admit("two-callers", "192.0.2.2", _LIMIT)


async def test_all_callers_together_have_the_limit_of_the_realm(limiter: RedisRateLimiter) -> None:
    admitted = [await limiter.admit("many", f"192.0.2.{n}", _LIMIT) for n in range(6)]
    assert admitted == [True, True, True, True, False, False]
    assert await limiter.admit("another", "192.0.2.9", _LIMIT)


async def test_a_window_ends_and_the_count_with_it(limiter: RedisRateLimiter) -> None:
    brief = RateLimit("brief", of_caller=1, of_realm=1, window=timedelta(milliseconds=1))
    assert await limiter.admit("brief", "192.0.2.1", brief)
    for _ in range(1000):
        if await limiter.admit("brief", "192.0.2.1", brief):
            return
    pytest.fail("the window has not ended")
