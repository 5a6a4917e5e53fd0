"""Authentication sessions in Redis: stored, replaced by one of two writers, and ended."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.domain.authentication import (
    AuthenticationSession,
    ExecutionStatus,
    Stage,
    expires_at,
    new_authentication_session,
)
from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.limits.fair_share import caller_address
from gateway.domain.ports.sign_in import MOST_BYTES, MOST_TABS
from gateway.domain.realm import TokenLifespans
from gateway.storage.redis.authentication_sessions import RedisAuthenticationSessions
from gateway.storage.redis.connection import create_client
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW
from tests.support.timed_scripts import scripts_at

LATER = NOW + timedelta(minutes=30)


def begun(session_id: str | None = None, **fields: object) -> AuthenticationSession:
    """Return a sign-in that has just begun."""
    session = new_authentication_session(
        realm_id="demo-id",
        client="device-uuid",
        flow="flow",
        started_at=NOW,
        session_id=session_id,
    )
    return replace(session, **fields)  # type: ignore[arg-type] # any field may be set


FULL = begun(
    request={"state": "a state", "nonce": "ü\u2028"},
    stage=Stage.AUTHENTICATED,
    execution="step",
    statuses={"step": ExecutionStatus.CHALLENGED, "other": ExecutionStatus.SETUP_REQUIRED},
    user_id="alice-uuid",
    attempted_username="Alice ",
    remember_me=True,
    level=0,
    used=frozenset({"otp", "password"}),
    required_action="UPDATE_PASSWORD",
    notes={"loa-map": '{"1":5}'},
    version=7,
)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOW)


@pytest.fixture
async def sessions(
    redis_server: RedisServer, clock: SetClock
) -> AsyncIterator[RedisAuthenticationSessions]:
    client = create_client(redis_server.url)
    yield RedisAuthenticationSessions(client, clock, scripts_at(clock))
    await client.aclose()


async def _found(
    sessions: RedisAuthenticationSessions, session: AuthenticationSession
) -> AuthenticationSession | None:
    return await sessions.find_tab(session.realm_id, session.id, session.tab_id)


@pytest.mark.parametrize("session", [FULL, begun()])
async def test_what_is_stored_comes_back(
    sessions: RedisAuthenticationSessions, session: AuthenticationSession
) -> None:
    await sessions.add(session, LATER)
    assert await _found(sessions, session) == session
    for other in (
        replace(session, realm_id="other-id"),
        replace(session, id="other"),
        replace(session, tab_id="other"),
    ):
        assert await _found(sessions, other) is None


async def test_of_those_who_replace_one_version_one_succeeds(
    sessions: RedisAuthenticationSessions,
) -> None:
    before = begun()
    await sessions.add(before, LATER)
    after = [replace(before, execution=f"step {number}").next_step() for number in range(8)]
    won = await asyncio.gather(*(sessions.replace(before, one, LATER) for one in after))
    assert sum(won) == 1
    stored = after[won.index(True)]
    assert await _found(sessions, before) == stored
    assert await sessions.replace(stored, stored.next_step().next_step(), LATER)


async def test_what_was_removed_or_has_ended_is_not_replaced(
    sessions: RedisAuthenticationSessions, clock: SetClock
) -> None:
    session = begun()
    assert not await sessions.replace(session, session.next_step(), LATER)
    await sessions.add(session, LATER)
    clock.instant = LATER
    assert await _found(sessions, session) is None
    assert not await sessions.replace(session, session.next_step(), LATER + timedelta(hours=1))


async def test_a_step_moves_the_end(sessions: RedisAuthenticationSessions, clock: SetClock) -> None:
    session = begun()
    await sessions.add(session, LATER)
    moved = session.next_step()
    assert await sessions.replace(session, moved, LATER + timedelta(minutes=1))
    clock.instant = LATER
    assert await _found(sessions, session) == moved


async def test_all_tabs_of_a_browser_are_removed_together(
    sessions: RedisAuthenticationSessions,
) -> None:
    first, other = begun(), begun()
    second = begun(first.id)
    for session in (first, second, other):
        await sessions.add(session, LATER)
    await sessions.remove_browser("demo-id", first.id)
    await sessions.remove_browser("demo-id", "unknown")
    assert [await _found(sessions, each) for each in (first, second)] == [None, None]
    assert await _found(sessions, other) == other


async def test_a_browser_has_a_bounded_number_of_tabs(
    sessions: RedisAuthenticationSessions, clock: SetClock
) -> None:
    tabs = [begun()]
    tabs += [begun(tabs[0].id) for _ in range(MOST_TABS)]
    for number, session in enumerate(tabs):
        await sessions.add(session, LATER + timedelta(seconds=number))
    assert await _found(sessions, tabs[0]) is None
    assert await _found(sessions, tabs[1]) == tabs[1]
    clock.instant = LATER + timedelta(seconds=10)
    late = begun(tabs[0].id)
    await sessions.add(late, LATER + timedelta(hours=1))
    assert await _found(sessions, tabs[11]) == tabs[11]
    assert await _found(sessions, late) == late


async def test_the_key_expires_with_the_tab_that_ends_last(
    redis_server: RedisServer, sessions: RedisAuthenticationSessions
) -> None:
    first = begun()
    for ends_in in (20, 10):
        session = begun(first.id)
        await sessions.add(session, NOW + timedelta(minutes=ends_in))
    with redis_server.client() as plain:
        (name,) = plain.keys("rg:authentication-session:*")
        left = plain.pttl(name)
    assert name == f"rg:authentication-session:demo-id:{first.id}"
    assert timedelta(minutes=19) < timedelta(milliseconds=left) <= timedelta(minutes=20)


@pytest.mark.parametrize("text", ["x" * MOST_BYTES, "\ud800"])
async def test_what_cannot_be_stored_is_refused(
    sessions: RedisAuthenticationSessions, text: str
) -> None:
    session = begun()
    with pytest.raises(InvalidInput):
        await sessions.add(replace(session, request={"state": text}), LATER)
    await sessions.add(session, LATER)
    with pytest.raises(InvalidInput):
        await sessions.replace(session, session.with_note("text", text).next_step(), LATER)
    assert await _found(sessions, session) == session


async def test_without_redis_every_call_says_so(own_redis: RedisServer) -> None:
    client = create_client(own_redis.url)
    sessions = RedisAuthenticationSessions(client, SetClock(NOW))
    own_redis.stop()
    with pytest.raises(StoreUnavailable):
        await sessions.add(begun(), LATER)
    with pytest.raises(StoreUnavailable):
        await sessions.find_tab("demo-id", "id", "tab")
    await client.aclose()


def test_a_page_of_a_required_action_has_a_time_of_its_own() -> None:
    lifespans = TokenLifespans()
    now = NOW + timedelta(minutes=10)
    assert expires_at(lifespans, begun(), now) == NOW + lifespans.access_code_login
    waiting = begun(required_action="UPDATE_PASSWORD")
    assert expires_at(lifespans, waiting, now) == now + lifespans.access_code_user_action


def test_opening_an_action_page_does_not_extend_its_life() -> None:
    """Else the recent sign-in that changing a password requires may be one of last year."""
    lifespans = TokenLifespans()
    waiting = begun(required_action="UPDATE_PASSWORD")
    latest = NOW + lifespans.access_code_login + lifespans.access_code_user_action
    assert expires_at(lifespans, waiting, NOW + timedelta(days=365)) == latest


async def test_all_tabs_of_a_browser_move_to_its_new_id(
    sessions: RedisAuthenticationSessions,
) -> None:
    first = begun()
    second = begun(first.id)
    for tab in (first, second):
        await sessions.add(tab, LATER)
    moved = replace(first.next_step(), id="a-new-id")
    assert await sessions.replace(first, moved, LATER)
    assert not await sessions.replace(first, moved, LATER)
    assert await _found(sessions, moved) == moved
    assert await _found(sessions, replace(second, id="a-new-id")) is not None
    for tab in (first, second):
        assert await _found(sessions, tab) is None


ROOM = 5
"""Sessions of `begun()` that fit in the bound of `bounded`."""


@pytest.fixture
async def bounded(
    redis_server: RedisServer, clock: SetClock
) -> AsyncIterator[RedisAuthenticationSessions]:
    """Return sessions of which the unproven ones have little room."""
    client = create_client(redis_server.url)
    most = ROOM * 650
    yield RedisAuthenticationSessions(client, clock, scripts_at(clock), most_unproven_bytes=most)
    await client.aclose()


async def _begin_many(
    sessions: RedisAuthenticationSessions, clock: SetClock, count: int
) -> list[AuthenticationSession]:
    found = [begun() for _ in range(count)]
    for session in found:
        clock.instant += timedelta(seconds=1)
        await sessions.add(session, LATER)
    return found


async def test_the_oldest_of_too_many_anonymous_sign_ins_are_removed(
    redis_server: RedisServer, bounded: RedisAuthenticationSessions, clock: SetClock
) -> None:
    """Attacks: C24. Everyone may open the page of a sign-in, and the server evicts nothing."""
    flood = await _begin_many(bounded, clock, 10 * ROOM)
    left = [session for session in flood if await _found(bounded, session) is not None]
    assert left == flood[-ROOM:]
    with redis_server.client() as plain:
        assert len(plain.keys("rg:authentication-session:*")) == ROOM
        assert plain.zcard("rg:unproven:authentication-session:demo-id:") == ROOM
        assert all(0 < plain.pttl(key) <= 30 * 60_000 for key in plain.keys("rg:unproven*"))


async def test_a_flood_of_a_realm_leaves_others_and_what_was_proven(
    bounded: RedisAuthenticationSessions, clock: SetClock
) -> None:
    first, elsewhere = begun(), replace(begun(), realm_id="other-id")
    second = begun(first.id)
    for session in (first, second, elsewhere):
        await bounded.add(session, LATER)
    proven = replace(first.next_step(), id="a-new-id", used=frozenset({"password"}))
    assert await bounded.replace(first, proven, LATER)
    assert await _found(bounded, replace(second, id="a-new-id")) is not None
    await _begin_many(bounded, clock, 2 * ROOM)
    assert await _found(bounded, proven) == proven
    assert await _found(bounded, elsewhere) == elsewhere
    assert await _found(bounded, replace(second, id="a-new-id")) is None


async def test_a_flood_of_one_network_leaves_the_sign_ins_of_others(
    redis_server: RedisServer, bounded: RedisAuthenticationSessions, clock: SetClock
) -> None:
    """The network with the most bytes gives way, also after a step and under another id."""
    caller_address.set("192.0.2.1")
    first, second = await _begin_many(bounded, clock, 2)
    caller_address.set("2001:db8::1")
    flood = await _begin_many(bounded, clock, 3 * ROOM)
    assert await _found(bounded, first) == first
    assert await _found(bounded, flood[-1]) == flood[-1]
    caller_address.set("192.0.2.1")
    retried = replace(first.next_step(), id="another-id")
    assert await bounded.replace(first, retried, LATER)
    caller_address.set("2001:db8::2")
    await _begin_many(bounded, clock, 3 * ROOM)
    assert await _found(bounded, retried) == retried
    assert await _found(bounded, second) == second
    with redis_server.client() as plain:
        shares = plain.zrange(
            "rg:unproven-networks:authentication-session:demo-id", 0, -1, withscores=True
        )
        total = plain.get("rg:unproven-sum:authentication-session:demo-id")
    assert [name for name, _ in shares] == ["192.0.2.1", "2001:db8::/64"]
    assert sum(share for _, share in shares) == int(total)


async def test_networks_whose_entries_have_expired_take_no_room(
    redis_server: RedisServer, bounded: RedisAuthenticationSessions, clock: SetClock
) -> None:
    caller_address.set("192.0.2.1")
    await _begin_many(bounded, clock, ROOM)
    with redis_server.client() as plain:
        plain.delete("rg:unproven:authentication-session:demo-id:192.0.2.1")
    caller_address.set("192.0.2.2")
    found = await _begin_many(bounded, clock, ROOM)
    assert [await _found(bounded, one) for one in found] == found


async def test_a_step_makes_a_sign_in_the_youngest(
    bounded: RedisAuthenticationSessions, clock: SetClock
) -> None:
    first, *_ = await _begin_many(bounded, clock, ROOM)
    clock.instant += timedelta(seconds=1)
    retried = first.next_step()
    assert await bounded.replace(first, retried, LATER)
    await _begin_many(bounded, clock, ROOM - 1)
    assert await _found(bounded, retried) == retried


@pytest.mark.parametrize("ends", ["removed", "deleted", "replaced", "pushed out by other tabs"])
async def test_what_has_ended_takes_no_room(
    redis_server: RedisServer,
    sessions: RedisAuthenticationSessions,
    ends: str,
) -> None:
    """The sum of the bytes is exact, so it never refuses room that is there."""
    session = begun()
    await sessions.add(session, LATER)
    if ends == "removed":
        await sessions.remove_tab("demo-id", session.id, session.tab_id)
    elif ends == "deleted":
        await sessions.remove_browser("demo-id", session.id)
    elif ends == "replaced":
        large = session.with_note("text", "x" * 1000).next_step()
        assert await sessions.replace(session, large, LATER)
        small = replace(large.next_step(), used=frozenset({"password"}))
        assert await sessions.replace(large, small, LATER)
    else:
        for number in range(2 * MOST_TABS):
            await sessions.add(begun(session.id), LATER + timedelta(seconds=number))
        await sessions.remove_browser("demo-id", session.id)
    with redis_server.client() as plain:
        assert plain.get("rg:unproven-sum:authentication-session:demo-id") == "0"
        assert plain.zcard("rg:unproven:authentication-session:demo-id:") == 0
