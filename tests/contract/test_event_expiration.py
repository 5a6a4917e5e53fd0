"""Recorded events go when their realm keeps them no longer, not before."""

from datetime import timedelta

import pytest

from gateway.admin import events as event_log
from gateway.admin.events import remove_expired_events
from gateway.domain.events import AdminEventQuery, EventPage, UserEventQuery
from gateway.domain.realm import EventsConfig, Realm
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_events import admin_event, user_event
from tests.support.stored_values import NOW, realm, store_realms

_LATER = NOW + timedelta(seconds=8)
"""Events happen each second from NOW on."""


async def _fill(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    for name in ("demo", "other"):
        async with database.write() as stores:
            events = [user_event(str(number), of=name) for number in range(6)]
            await stores.user_events.add_all(events)
            for number in range(6):
                await stores.admin_events.add(admin_event(str(number), of=name))


async def _left(database: SqlDatabase, of: str = "demo") -> tuple[list[str], list[str]]:
    page = EventPage(newest_first=False)
    async with database.read() as stores:
        users = await stores.user_events.page(f"{of}-id", UserEventQuery(), page)
        admins = await stores.admin_events.page(f"{of}-id", AdminEventQuery(), page)
    return [event.id for event in users], [event.id for event in admins]


_ALL = [str(number) for number in range(6)]


@pytest.mark.parametrize(
    ("kept", "users", "admins"),
    [
        (realm(), _ALL, _ALL),
        (realm(events=EventsConfig(expiration=timedelta(seconds=5))), ["3", "4", "5"], _ALL),
        (realm(attributes={"adminEventsExpiration": "5"}), _ALL, ["3", "4", "5"]),
        (realm(attributes={"adminEventsExpiration": "0"}), _ALL, _ALL),
        (realm(attributes={"adminEventsExpiration": "soon"}), _ALL, _ALL),
        (realm(attributes={"adminEventsExpiration": "9" * 10}), _ALL, _ALL),
        (realm(attributes={"adminEventsExpiration": "9" * 99}), _ALL, _ALL),
        (realm(events=EventsConfig(expiration=timedelta(days=99_999))), _ALL, _ALL),
    ],
)
async def test_a_realm_keeps_its_events_for_as_long_as_it_says(
    database: SqlDatabase, kept: Realm, users: list[str], admins: list[str]
) -> None:
    await _fill(database)
    await remove_expired_events(database, kept, _LATER)
    assert await _left(database) == (users, admins)
    assert await _left(database, "other") == (_ALL, _ALL)


async def test_more_than_a_batch_goes(
    database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "BATCH", 2)
    await _fill(database)
    await remove_expired_events(
        database, realm(events=EventsConfig(expiration=timedelta(seconds=1))), _LATER
    )
    assert await _left(database) == ([], _ALL)
