"""What is particular to sessions in Redis: expiry, keys that end, outages."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.sessions import UserSession
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.sessions import RedisSessions
from tests.support.deadline import eventually_succeeds
from tests.support.redis_server import RedisServer
from tests.support.sessions import LATER, part, session
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW
from tests.support.timed_scripts import scripts_at

_MINUTE = timedelta(minutes=1)
_DAY_AND_HALF_AN_HOUR = (24 * 60 + 30) * 60


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOW)


@pytest.fixture
async def sessions(redis_server: RedisServer, clock: SetClock) -> AsyncIterator[RedisSessions]:
    client = create_client(redis_server.url)
    yield RedisSessions(client, clock, scripts_at(clock))
    await client.aclose()


async def test_an_expired_session_is_gone(sessions: RedisSessions, clock: SetClock) -> None:
    await sessions.add(session("one", "device"), LATER)
    await sessions.add(session("two", "device"), LATER)
    clock.instant = LATER
    assert await sessions.find_session("demo-id", "one-session") is None
    assert await sessions.of_user("demo-id", "alice-uuid") == ()
    assert not await sessions.end("demo-id", "two-session")
    assert not await sessions.join("demo-id", "one-session", part("device"), LATER + _MINUTE)
    assert not await sessions.end("demo-id", "one-session")


async def test_an_expired_session_is_not_counted_nor_listed(
    sessions: RedisSessions, clock: SetClock
) -> None:
    await sessions.add(session("one", "device"), LATER)
    await sessions.add(session("two", "device"), LATER + _MINUTE)
    clock.instant = LATER
    assert await sessions.count_of_client("demo-id", "device-uuid") == 1
    assert await sessions.of_client("demo-id", "device-uuid", 0, 1) == (session("two", "device"),)
    assert await sessions.end_of_realm("demo-id") == 1


async def test_joining_prolongs_a_session(sessions: RedisSessions, clock: SetClock) -> None:
    await sessions.add(session("one", "device"), LATER)
    assert await sessions.join("demo-id", "one-session", part("device"), LATER + 2 * _MINUTE)
    clock.instant = LATER + _MINUTE
    await sessions.leave("demo-id", "one-session", "ghost")
    assert await sessions.find_session("demo-id", "one-session") == session("one", "device")
    assert await sessions.purge("demo-id") == 0


async def test_a_new_sign_in_replaces_what_the_session_says_of_it(sessions: RedisSessions) -> None:
    await sessions.add(session("one", "device"), LATER)
    again = session("one", ip_address="192.0.2.9", remember_me=True, notes={"AUTH_TIME": "7"})
    part_of_browser = replace(
        part("browser"), acr="gold", authenticated_at=NOW, claims='{"id_token":{"acr":null}}'
    )
    assert await sessions.renew(again, part_of_browser, LATER)
    found = await sessions.find_session("demo-id", "one-session")
    clients = {"device-uuid": part("device"), "browser-uuid": part_of_browser}
    assert found == replace(again, clients=clients)
    assert not await sessions.renew(session("two"), part("browser"), LATER)


async def test_a_session_lasts_without_the_client_that_is_detached(sessions: RedisSessions) -> None:
    await sessions.add(session("one", "device"), LATER)
    await sessions.detach("demo-id", "one-session", "device-uuid")
    found = await sessions.find_session("demo-id", "one-session")
    assert found is not None
    assert not found.clients
    assert await sessions.count_of_client("demo-id", "device-uuid") == 0
    assert not await sessions.refresh("demo-id", "one-session", part("device"), LATER)
    assert await sessions.end("demo-id", "one-session")


async def test_every_key_ends_by_itself_after_its_last_session(
    sessions: RedisSessions, redis_server: RedisServer
) -> None:
    await sessions.add(session("one", "device"), LATER)
    await sessions.add(session("two", "device"), NOW + _MINUTE)
    await sessions.join("demo-id", "two-session", part("browser"), NOW + 2 * _MINUTE)
    await sessions.add(session("three", "device", "browser"), NOW + _MINUTE)
    await sessions.leave("demo-id", "three-session", "browser-uuid")
    with redis_server.client() as plain:
        lifetimes = {key: plain.ttl(key) for key in plain.scan_iter()}
    assert len(lifetimes) == 3 + 1 + 1 + 2
    for key, lifetime in lifetimes.items():
        assert 24 * 3600 < lifetime <= _DAY_AND_HALF_AN_HOUR, key
    for key in ("rg:sessions:demo-id", "rg:sessions-of-client:demo-id:device-uuid"):
        assert lifetimes[key] > _DAY_AND_HALF_AN_HOUR - 60, "as long as the longest of them"


async def test_what_has_expired_goes_as_new_sessions_come(
    sessions: RedisSessions, clock: SetClock, redis_server: RedisServer
) -> None:
    """Nobody reads, nobody purges: keys and sets do not grow all the same."""
    for _ in range(30):
        for number in range(10):
            name = f"{clock.instant.timestamp()}-{number}"
            new = session(name, "device", user_id=name, started_at=clock.instant)
            await sessions.add(new, clock.instant + _MINUTE)
        clock.advance(_MINUTE)
    with redis_server.client() as plain:
        assert plain.zcard("rg:sessions-of-client:demo-id:device-uuid") <= 20
        assert plain.dbsize() <= 2 * 20 + 2


async def test_what_has_expired_goes_as_others_are_refreshed(
    sessions: RedisSessions, clock: SetClock, redis_server: RedisServer
) -> None:
    for number in range(10):
        await sessions.add(session(f"s{number}", "device"), clock.instant + _MINUTE)
    await sessions.add(session("one", "browser"), LATER)
    clock.advance(_MINUTE)
    assert await sessions.refresh("demo-id", "one-session", part("browser"), LATER)
    with redis_server.client() as plain:
        assert plain.zcard("rg:sessions-of-client:demo-id:device-uuid") == 0


async def test_a_page_with_expired_sessions_is_not_longer_than_asked(
    sessions: RedisSessions, redis_server: RedisServer
) -> None:
    names = [f"s{number}" for number in range(6)]
    for name in names:
        await sessions.add(session(name, "device"), LATER)
    with redis_server.client() as plain:
        plain.delete("rg:session:demo-id:s0-session")
    found = await sessions.of_client("demo-id", "device-uuid", 0, 3)
    assert [one.id for one in found] == [f"s{number}-session" for number in (1, 2, 3)]


async def test_purging_forgets_the_expired_ones_of_a_realm(
    sessions: RedisSessions, clock: SetClock, redis_server: RedisServer
) -> None:
    for number in range(3):
        await sessions.add(session(f"s{number}", "device", user_id=f"u{number}"), LATER)
    await sessions.add(session("stays", "browser"), LATER + _MINUTE)
    clock.instant = LATER
    assert await sessions.purge("other-id") == 0
    assert await sessions.purge("demo-id") == 3
    with redis_server.client() as plain:
        assert sorted(plain.scan_iter()) == [
            "rg:session:demo-id:stays-session",
            "rg:sessions-of-client:demo-id:browser-uuid",
            "rg:sessions-of-user:demo-id:alice-uuid",
            "rg:sessions:demo-id",
        ]


async def test_a_session_whose_key_is_gone_leaves_the_lists(
    sessions: RedisSessions, redis_server: RedisServer
) -> None:
    for name in ("one", "two", "three"):
        await sessions.add(session(name, "device"), LATER)
    with redis_server.client() as plain:
        plain.delete("rg:session:demo-id:one-session", "rg:session:demo-id:three-session")
    two = session("two", "device")
    assert await sessions.of_client("demo-id", "device-uuid", 0, 1) == (two,)
    assert await sessions.of_user("demo-id", "alice-uuid") == (two,)
    assert await sessions.count_of_client("demo-id", "device-uuid") <= 2
    assert await sessions.end_of_user("demo-id", "alice-uuid") == 1
    assert await sessions.end_of_realm("demo-id") == 0


async def test_instants_keep_microseconds_through_every_change(
    sessions: RedisSessions,
) -> None:
    instant = NOW + timedelta(microseconds=1)
    stored = session("one", "device", started_at=instant, refreshed_at=instant)
    await sessions.add(stored, LATER)
    await sessions.join("demo-id", "one-session", part("browser", instant), LATER)
    await sessions.leave("demo-id", "one-session", "browser-uuid")
    assert await sessions.find_session("demo-id", "one-session") == stored


async def test_text_that_is_no_unicode_is_refused(sessions: RedisSessions) -> None:
    with pytest.raises(InvalidInput):
        await sessions.add(session("one", username="\ud800"), LATER)
    assert await sessions.find_session("demo-id", "one-session") is None


async def test_a_burst_waits_for_connections_and_none_is_refused(
    sessions: RedisSessions,
) -> None:
    await sessions.add(session("one", "device"), LATER)
    found = await asyncio.gather(
        *(sessions.find_session("demo-id", "one-session") for _ in range(300))
    )
    assert found == [session("one", "device")] * 300


@pytest.fixture
def durable_redis() -> Iterator[RedisServer]:
    """Run a server that forgets nothing when it is killed, as the private server is run."""
    server = RedisServer(appendonly="yes", appendfsync="always")
    try:
        server.start()
        yield server
    finally:
        server.remove()


async def test_without_redis_every_call_is_an_outage_and_loses_nothing(
    durable_redis: RedisServer, clock: SetClock
) -> None:
    client = create_client(durable_redis.url)
    sessions = RedisSessions(client, clock, scripts_at(clock))
    await sessions.add(session("one", "device"), LATER)
    durable_redis.stop()
    for call in (
        sessions.add(session("two"), LATER),
        sessions.find_session("demo-id", "one-session"),
        sessions.join("demo-id", "one-session", part(), LATER),
        sessions.leave("demo-id", "one-session", "device-uuid"),
        sessions.end("demo-id", "one-session"),
        sessions.end_of_user("demo-id", "alice-uuid"),
        sessions.end_of_realm("demo-id"),
        sessions.of_user("demo-id", "alice-uuid"),
        sessions.of_client("demo-id", "device-uuid", 0, 1),
        sessions.count_of_client("demo-id", "device-uuid"),
        sessions.purge("demo-id"),
    ):
        with pytest.raises(StoreUnavailable) as caught:
            await call
        assert caught.value.store == "redis"
    durable_redis.start()
    found: list[UserSession | None] = []

    async def find() -> None:
        found.append(await sessions.find_session("demo-id", "one-session"))

    await eventually_succeeds(find, StoreUnavailable)
    assert found == [session("one", "device")]
    await client.aclose()
