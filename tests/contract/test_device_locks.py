"""Locks of devices in a real Redis: they count at every gateway at once, and they end."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

from gateway.domain.ports.certificates import DeviceLock, LockCause
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.login_failures import RedisDeviceLocks
from tests.support.redis_server import RedisServer

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
DEVICE = "spiffe://acme.example/edge/berlin/one"


@pytest.fixture
async def redis(redis_server: RedisServer) -> AsyncIterator[Redis]:
    """Return a connection of one gateway."""
    client = create_client(redis_server.url)
    yield client
    await client.aclose()


@pytest.fixture
async def other(redis_server: RedisServer) -> AsyncIterator[RedisDeviceLocks]:
    """Return the locks of another gateway."""
    client = create_client(redis_server.url)
    yield RedisDeviceLocks(client)
    await client.aclose()


def _lock(cause: LockCause, lasts: timedelta = HOUR, device: str = DEVICE) -> DeviceLock:
    return DeviceLock(device, cause, NOW + lasts)


async def test_a_lock_counts_at_once_and_ends_at_its_time(
    redis: Redis, other: RedisDeviceLocks
) -> None:
    locks = RedisDeviceLocks(redis)
    await locks.lock_device("r", "timed", _lock(LockCause.ADMINISTRATOR), NOW)
    assert await other.is_locked("r", "timed", DEVICE, NOW)
    assert await other.is_locked("r", "timed", DEVICE, NOW + HOUR - timedelta(seconds=1))
    assert not await other.is_locked("r", "timed", DEVICE, NOW + HOUR)
    for elsewhere in (("r", "timed", f"{DEVICE}2"), ("r", "c2", DEVICE), ("r2", "timed", DEVICE)):
        assert not await other.is_locked(*elsewhere, NOW)
    assert await other.list_locks("r", "timed", NOW) == (_lock(LockCause.ADMINISTRATOR),)
    assert await other.list_locks("r", "timed", NOW + HOUR) == ()


async def test_one_cause_does_not_shorten_the_other(redis: Redis, other: RedisDeviceLocks) -> None:
    locks = RedisDeviceLocks(redis)
    await locks.lock_device("r", "both", _lock(LockCause.ADMINISTRATOR), NOW)
    await locks.lock_device("r", "both", _lock(LockCause.FAILURES, timedelta(seconds=1)), NOW)
    assert await other.is_locked("r", "both", DEVICE, NOW + timedelta(minutes=30))
    assert await other.unlock_device("r", "both", DEVICE)
    assert not await locks.is_locked("r", "both", DEVICE, NOW)
    assert not await other.unlock_device("r", "both", DEVICE)


async def test_every_key_expires_and_no_lock_lasts_for_ever(redis: Redis) -> None:
    locks = RedisDeviceLocks(redis)
    await locks.lock_device("r", "long", _lock(LockCause.ADMINISTRATOR, 1000 * 24 * HOUR), NOW)
    assert not await locks.is_locked("r", "long", DEVICE, NOW + 367 * 24 * HOUR)
    assert await locks.count_failure("r", "long", DEVICE, HOUR) == 1
    assert await locks.count_failure("r", "long", DEVICE, HOUR) == 2
    assert await locks.count_failure("r", "long", f"{DEVICE}2", HOUR) == 1
    keys = [key async for key in redis.scan_iter("rg:device:*:r:long*")]
    assert len(keys) == 3
    assert all([await redis.pttl(key) > 0 for key in keys])
    await locks.unlock_device("r", "long", DEVICE)
    assert await locks.count_failure("r", "long", DEVICE, HOUR) == 1


async def test_locks_that_ended_leave_the_store(redis: Redis) -> None:
    locks = RedisDeviceLocks(redis)
    for number in range(3):
        lock = _lock(LockCause.FAILURES, timedelta(seconds=1), f"{DEVICE}{number}")
        await locks.lock_device("r", "old", lock, NOW)
    await locks.lock_device("r", "old", _lock(LockCause.FAILURES, 2 * HOUR), NOW + HOUR)
    assert await redis.zcard("rg:device:locks:r:old:failures") == 1
