"""User events in the database: kept once, found by each filter and all of them, and removed."""

from datetime import timedelta

import pytest

from gateway.domain.errors import InvalidInput
from gateway.domain.events import ALL_NAMES, EventPage, EventType, Period, UserEvent, UserEventQuery
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_events import user_event
from tests.support.stored_values import NOW, store_realms

_ALL = UserEventQuery()


async def _store(database: SqlDatabase, *events: UserEvent) -> None:
    async with database.write() as stores:
        await stores.user_events.add_all(events)


async def _found(
    database: SqlDatabase, query: UserEventQuery = _ALL, page: EventPage | None = None
) -> list[str]:
    async with database.read() as stores:
        events = await stores.user_events.page("demo-id", query, page or EventPage())
    return [event.id for event in events]


async def test_an_event_comes_back_as_it_was_kept(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    bare = UserEvent("2", "demo-id", NOW, EventType.CLIENT_LOGIN)
    failed = user_event("1", error="invalid_user_credentials", details={"a": 'quoted " \\ ü 😀'})
    await _store(database, failed, bare)
    async with database.read() as stores:
        assert await stores.user_events.page("demo-id", _ALL, EventPage()) == (failed, bare)


async def test_an_event_that_is_kept_already_stays_as_it_is(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    await _store(database, user_event("1"))
    await _store(database, user_event("1", user_id="other"), user_event("2"), user_event("2"))
    assert await _found(database) == ["2", "1"]
    assert await _found(database, UserEventQuery(user_id="other")) == []


async def test_nothing_is_kept_of_a_realm_that_has_gone(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    await _store(database, user_event("1", of="gone"), user_event("2"))
    assert await _found(database) == ["2"]


async def test_no_events_are_no_statement(database: SqlDatabase) -> None:
    await _store(database)


async def test_events_go_with_their_realm(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    await _store(database, user_event("1"))
    async with database.write() as stores:
        await stores.realms.remove_realm("demo-id")
    await store_realms(database, "demo")
    assert await _found(database) == []


async def test_only_the_realm_that_is_asked_is_looked_at(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    await _store(
        database, user_event("1"), user_event("1", of="other"), user_event("2", of="other")
    )
    assert await _found(database) == ["1"]
    assert await _found(database, UserEventQuery(user_id="john")) == ["1"]
    both = UserEventQuery(user_id="john", client_id="app")
    assert await _found(database, both) == ["1"]


async def test_the_newest_come_first_unless_the_oldest_are_wanted(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    await _store(database, user_event("2"), user_event("3"), user_event("1"))
    assert await _found(database) == ["3", "2", "1"]
    assert await _found(database, page=EventPage(newest_first=False)) == ["1", "2", "3"]


@pytest.mark.parametrize("query", [_ALL, UserEventQuery(names=("LOGIN", "LOGOUT"))])
async def test_pages_continue_among_events_of_one_instant(
    database: SqlDatabase, query: UserEventQuery
) -> None:
    await store_realms(database, "demo")
    kinds = (EventType.LOGIN, EventType.LOGOUT)
    events = [
        user_event(f"e{number}", kind=kinds[number % 2], time=NOW + timedelta(number // 4))
        for number in range(10)
    ]
    await _store(database, *events)
    whole = await _found(database, query)
    pages = [await _found(database, query, EventPage(first, 3)) for first in range(0, 12, 3)]
    assert [event_id for page in pages for event_id in page] == whole
    assert sorted(whole) == [f"e{number}" for number in range(10)]
    assert await _found(database, query, EventPage(maximum=0)) == []


_VARIED = (
    user_event("1"),
    user_event("2", kind=EventType.LOGOUT),
    user_event("3", error="user_not_found", user_id=None),
    user_event("4", client_id="other"),
    user_event("5", user_id="jane"),
    user_event("6", ip_address="192.0.2.2"),
    user_event("7", client_id=None, user_id=None, ip_address=None),
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (UserEventQuery(names=("LOGIN",)), "76541"),
        (UserEventQuery(names=("LOGIN_ERROR",)), "3"),
        (UserEventQuery(names=("LOGIN_ERROR", "LOGOUT")), "32"),
        (UserEventQuery(names=("LOGOUT", "LOGOUT")), "2"),
        (UserEventQuery(names=ALL_NAMES), "7654321"),
        (UserEventQuery(client_id="app"), "65321"),
        (UserEventQuery(client_id="APP"), ""),
        (UserEventQuery(client_id="ap%"), ""),
        (UserEventQuery(user_id="jane"), "5"),
        (UserEventQuery(ip_address="192.0.2.2"), "6"),
        (UserEventQuery(names=("LOGIN",), client_id="app"), "651"),
        (UserEventQuery(names=("LOGIN", "LOGOUT"), client_id="app", user_id="john"), "621"),
        (UserEventQuery(client_id="app", user_id="jane"), "5"),
        (UserEventQuery(client_id="other", user_id="jane"), ""),
        (UserEventQuery(client_id="app", user_id="john", ip_address="192.0.2.1"), "21"),
        (UserEventQuery(period=Period(since=user_event("5").time)), "765"),
        (UserEventQuery(period=Period(before=user_event("3").time)), "21"),
        (UserEventQuery(period=Period(user_event("2").time, user_event("4").time)), "32"),
        (UserEventQuery(client_id="app", period=Period(before=user_event("3").time)), "21"),
        (
            UserEventQuery(client_id="app", user_id="john", period=Period(user_event("2").time)),
            "62",
        ),
        (UserEventQuery(client_id="a" * 256), ""),
        (UserEventQuery(user_id="jo\0hn"), ""),
        (UserEventQuery(ip_address="\ud800"), ""),
    ],
)
async def test_each_filter_and_any_of_them_together_find_what_matches(
    database: SqlDatabase, query: UserEventQuery, expected: str
) -> None:
    await store_realms(database, "demo")
    await _store(database, *_VARIED)
    assert await _found(database, query) == list(expected)
    oldest_first = await _found(database, query, EventPage(newest_first=False))
    assert oldest_first == list(reversed(expected))


@pytest.mark.parametrize("unfit", ["a" * 256, "NUL \0", "lone \ud800"])
async def test_a_name_that_a_store_cannot_hold_refuses_its_batch(
    database: SqlDatabase, unfit: str
) -> None:
    await store_realms(database, "demo")
    with pytest.raises(InvalidInput):
        await _store(database, user_event("1"), user_event("2", client_id=unfit))
    assert await _found(database) == []


@pytest.mark.parametrize("unfit", ["NUL \0", "lone \ud800", "long " * 1000])
async def test_details_hold_any_text(database: SqlDatabase, unfit: str) -> None:
    await store_realms(database, "demo")
    event = user_event("1", details={"reason": unfit})
    await _store(database, event)
    async with database.read() as stores:
        assert await stores.user_events.page("demo-id", _ALL, EventPage()) == (event,)


async def test_the_oldest_are_removed_so_many_at_a_time(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    events = [user_event(str(number)) for number in range(1, 6)]
    await _store(database, *events, user_event("1", of="other"))
    async with database.write() as stores:
        assert await stores.user_events.remove_oldest("demo-id", events[3].time, 2) == 2
    assert await _found(database) == ["5", "4", "3"]
    async with database.write() as stores:
        assert await stores.user_events.remove_oldest("demo-id", events[3].time, 2) == 1
    assert await _found(database) == ["5", "4"]
    async with database.read() as stores:
        assert len(await stores.user_events.page("other-id", _ALL, EventPage())) == 1
