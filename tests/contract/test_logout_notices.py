"""The queue of logout notices on both databases."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from gateway.domain.deliveries import LONGEST_NOTICE_WAIT, MOST_ATTEMPTS, LogoutNotice
from gateway.storage.sql.database import SqlDatabase
from tests.support.sessions import store_owners
from tests.support.stored_values import NOW

_NOTICE: Final = LogoutNotice("demo-id", "session-1", "device-uuid", "alice-uuid", NOW)
_LEASE: Final = timedelta(seconds=30)


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    await store_owners(database)
    return database


async def _claim(
    database: SqlDatabase, after: timedelta = timedelta(), most: int = 8
) -> tuple[LogoutNotice, ...]:
    async with database.write() as stores:
        return await stores.logout_notices.claim(NOW + after, _LEASE, most)


async def _add(database: SqlDatabase, *notices: LogoutNotice) -> None:
    async with database.write() as stores:
        await stores.logout_notices.add_notices(notices)


async def test_a_notice_is_claimed_by_one_until_its_lease_is_over(stored: SqlDatabase) -> None:
    await _add(stored, _NOTICE)
    await _add(stored, replace(_NOTICE, user_id="somebody-else"))
    assert await _claim(stored, -timedelta(seconds=1)) == ()
    assert await _claim(stored) == (replace(_NOTICE, attempts=1),)
    assert await _claim(stored) == ()
    assert await _claim(stored, _LEASE) == (replace(_NOTICE, attempts=2),)


async def test_claims_at_once_get_different_notices(stored: SqlDatabase) -> None:
    notices = [replace(_NOTICE, session_id=f"session-{number}") for number in range(12)]
    await _add(stored, *notices)
    claims = await asyncio.gather(*(_claim(stored, most=4) for _ in range(4)))
    found = [notice.session_id for claimed in claims for notice in claimed]
    assert len(found) == len(set(found))
    while claimed := await _claim(stored):
        found += [notice.session_id for notice in claimed]
    assert sorted(found) == sorted(notice.session_id for notice in notices)


async def test_what_was_tried_least_goes_first(stored: SqlDatabase) -> None:
    tried, fresh = _NOTICE, replace(_NOTICE, session_id="session-2")
    await _add(stored, tried)
    (claimed,) = await _claim(stored)
    async with stored.write() as stores:
        await stores.logout_notices.postpone(claimed, NOW - timedelta(seconds=9))
    await _add(stored, fresh)
    assert await _claim(stored, most=1) == (replace(fresh, attempts=1),)
    assert await _claim(stored, most=1) == (replace(tried, attempts=2),)


async def test_a_removed_notice_is_not_due(stored: SqlDatabase) -> None:
    await _add(stored, _NOTICE)
    async with stored.write() as stores:
        assert await stores.logout_notices.has_due(NOW)
        await stores.logout_notices.remove_notice(_NOTICE)
        assert not await stores.logout_notices.has_due(NOW)


async def test_notices_go_with_their_client(stored: SqlDatabase) -> None:
    await _add(stored, _NOTICE)
    async with stored.write() as stores:
        assert await stores.realms.find_name("demo-id") == "demo"
        await stores.clients.remove_client("demo-id", "device-uuid")
        assert not await stores.logout_notices.has_due(NOW)


def test_attempts_are_bounded_in_number_and_time() -> None:
    delays = []
    now, notice = NOW, _NOTICE
    while True:
        notice = replace(notice, attempts=notice.attempts + 1)
        again = notice.next_attempt_at(now)
        if again is None:
            break
        delays.append(round((again - now).total_seconds()))
        now = again
    assert delays == [5, 10, 20, 40, 80, 160, 320, 600, 600]
    assert notice.attempts == MOST_ATTEMPTS
    old = replace(_NOTICE, attempts=1)
    assert old.next_attempt_at(NOW + LONGEST_NOTICE_WAIT) is None
