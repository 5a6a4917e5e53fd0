"""Revocations and events are forgotten once they have expired, not before."""

import asyncio
from datetime import datetime, timedelta

import pytest

from gateway.domain.clock import SystemClock
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import EventPage, UserEventQuery
from gateway.domain.realm import EventsConfig
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.sessions import RedisSessions
from gateway.storage.redis.single_use_codes import RedisOneTimeMarks
from gateway.storage.sql.database import SqlDatabase
from gateway.supervisor.housekeeping import run_housekeeping
from tests.support.deadline import eventually_succeeds
from tests.support.redis_server import RedisServer
from tests.support.stored_events import user_event
from tests.support.stored_values import realm, store_realms


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
        await stores.revocations.revoke("demo-id", "old", now - timedelta(minutes=1))
        await stores.revocations.revoke("demo-id", "new", now + timedelta(hours=1))
    await _begin_family(database, "old", now - timedelta(minutes=1))
    await _begin_family(database, "new", now + timedelta(hours=1))
    assert await _remembered(database) == {"old", "new"}
    interval = timedelta(milliseconds=10)
    keeping = asyncio.create_task(
        run_housekeeping(database, sessions, RedisOneTimeMarks(client), SystemClock(), interval)
    )
    try:
        await eventually_succeeds(lambda: _only_new_is_left(database), AssertionError)
    finally:
        keeping.cancel()
        await client.aclose()
    await _begin_family(database, "old", now)
    with pytest.raises(AlreadyExists):
        await _begin_family(database, "new", now)


async def test_events_go_that_their_realm_keeps_no_longer(
    database: SqlDatabase, redis_server: RedisServer
) -> None:
    client = create_client(redis_server.url)
    sessions, now = RedisSessions(client, SystemClock()), SystemClock().now()
    hour = timedelta(hours=1)
    async with database.write() as stores:
        await stores.realms.add(realm("demo", events=EventsConfig(expiration=hour)))
        old, new = user_event("old", time=now - 2 * hour), user_event("new", time=now)
        await stores.user_events.add_all([old, new])

    async def only_the_new_one_is_left() -> None:
        async with database.read() as stores:
            events = await stores.user_events.page("demo-id", UserEventQuery(), EventPage())
        assert [event.id for event in events] == ["new"]

    keeping = asyncio.create_task(
        run_housekeeping(database, sessions, RedisOneTimeMarks(client), SystemClock())
    )
    try:
        await eventually_succeeds(only_the_new_one_is_left, AssertionError)
    finally:
        keeping.cancel()
        await client.aclose()


async def _begin_family(database: SqlDatabase, family: str, expires_at: datetime) -> None:
    async with database.write() as stores:
        await stores.refresh_tokens.begin(
            "demo-id", family, session_id="s", token_id="1", expires_at=expires_at
        )


async def _only_new_is_left(database: SqlDatabase) -> None:
    assert await _remembered(database) == {"new"}
