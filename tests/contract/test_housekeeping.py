"""Revocations are forgotten once their tokens have expired, not before."""

import asyncio
from datetime import timedelta

from gateway.domain.clock import SystemClock
from gateway.storage.sql.database import SqlDatabase
from gateway.supervisor.housekeeping import keep_house
from tests.support.deadline import eventually_succeeds
from tests.support.stored_values import store_realms


async def _remembered(database: SqlDatabase) -> set[str]:
    async with database.read() as stores:
        return {
            token
            for token in ("old", "new")
            if await stores.revocations.is_revoked("demo-id", token)
        }


async def test_expired_revocations_go_and_the_others_stay(database: SqlDatabase) -> None:
    now = SystemClock().now()
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.revocations.revoke("demo-id", "old", now - timedelta(seconds=1))
        await stores.revocations.revoke("demo-id", "new", now + timedelta(hours=1))
    assert await _remembered(database) == {"old", "new"}
    interval = timedelta(milliseconds=10)
    keeping = asyncio.create_task(keep_house(database, SystemClock(), interval))
    try:
        await eventually_succeeds(lambda: _only_new_is_left(database), AssertionError)
    finally:
        keeping.cancel()


async def _only_new_is_left(database: SqlDatabase) -> None:
    assert await _remembered(database) == {"new"}
