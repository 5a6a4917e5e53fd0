"""Revocations are forgotten once their tokens have expired, not before."""

import asyncio
from datetime import datetime, timedelta

import pytest

from gateway.domain.clock import SystemClock
from gateway.domain.errors import AlreadyExists
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.sessions import RedisSessions
from gateway.storage.sql.database import SqlDatabase
from gateway.supervisor.housekeeping import keep_house
from tests.support.deadline import eventually_succeeds
from tests.support.redis_server import RedisServer
from tests.support.stored_values import store_realms


async def _remembered(database: SqlDatabase) -> set[str]:
    return {
        token for token in ("old", "new") if await database.lookups.is_revoked("demo-id", token)
    }


async def test_what_has_expired_goes_and_the_rest_stays(
    database: SqlDatabase, redis_server: RedisServer
) -> None:
    client = create_client(redis_server.url)
    sessions = RedisSessions(client, SystemClock())
    now = SystemClock().now()
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.revocations.revoke("demo-id", "old", now - timedelta(seconds=1))
        await stores.revocations.revoke("demo-id", "new", now + timedelta(hours=1))
    await _begin_family(database, "old", now - timedelta(seconds=1))
    await _begin_family(database, "new", now + timedelta(hours=1))
    assert await _remembered(database) == {"old", "new"}
    interval = timedelta(milliseconds=10)
    keeping = asyncio.create_task(keep_house(database, sessions, SystemClock(), interval))
    try:
        await eventually_succeeds(lambda: _only_new_is_left(database), AssertionError)
    finally:
        keeping.cancel()
        await client.aclose()
    await _begin_family(database, "old", now)
    with pytest.raises(AlreadyExists):
        await _begin_family(database, "new", now)


async def _begin_family(database: SqlDatabase, family: str, expires_at: datetime) -> None:
    async with database.write() as stores:
        await stores.refresh_tokens.begin(
            "demo-id", family, session_id="s", token_id="1", expires_at=expires_at
        )


async def _only_new_is_left(database: SqlDatabase) -> None:
    assert await _remembered(database) == {"new"}
