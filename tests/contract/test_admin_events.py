"""Admin events in the database: kept with their change, found by each filter, and removed."""

from dataclasses import replace

import pytest

from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.events import (
    AdminEvent,
    AdminEventQuery,
    AuthDetails,
    EventPage,
    OperationType,
    Period,
    ResourceType,
)
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_events import admin_event
from tests.support.stored_values import NOW, store_realms

_ALL = AdminEventQuery()


async def _store(database: SqlDatabase, *events: AdminEvent) -> None:
    async with database.write() as stores:
        for event in events:
            await stores.admin_events.add(event)


async def _found(
    database: SqlDatabase, query: AdminEventQuery = _ALL, page: EventPage | None = None
) -> list[str]:
    async with database.read() as stores:
        events = await stores.admin_events.page("demo-id", query, page or EventPage())
    return [event.id for event in events]


async def test_an_event_comes_back_as_it_was_kept(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    bare = AdminEvent(
        *("2", "demo-id", NOW, OperationType.UPDATE, ResourceType.REALM, None), AuthDetails()
    )
    await _store(database, admin_event("1"), bare)
    async with database.read() as stores:
        found = await stores.admin_events.page("demo-id", _ALL, EventPage())
    assert found == (admin_event("1"), bare)


async def test_an_event_is_not_kept_where_its_change_fails(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    with pytest.raises(AlreadyExists):
        await _store(database, admin_event("1"), admin_event("2"), admin_event("2"))
    assert await _found(database) == []


async def test_only_the_realm_that_is_asked_is_looked_at(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    await _store(database, admin_event("1"), admin_event("2", of="other"))
    assert await _found(database) == ["1"]
    assert await _found(database, AdminEventQuery(resource_path="users/*")) == ["1"]
    assert await _found(database, AdminEventQuery(resource_path="*/2")) == []


async def test_pages_follow_each_other_in_either_direction(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    await _store(database, *(admin_event(str(number)) for number in range(1, 8)))
    assert await _found(database, page=EventPage(2, 3)) == ["5", "4", "3"]
    assert await _found(database, page=EventPage(2, 3, newest_first=False)) == ["3", "4", "5"]
    paths = AdminEventQuery(resource_path="users/*")
    assert await _found(database, paths, EventPage(2, 3)) == ["5", "4", "3"]


_AUTH = admin_event("1").auth
_VARIED = (
    admin_event("1"),
    admin_event("2", operation=OperationType.DELETE),
    admin_event("3", resource=ResourceType.CLIENT, resource_path="clients/3"),
    admin_event("4", resource_path="users/4/role-mappings/realm"),
    admin_event("5", resource_path=None),
    admin_event("6", auth=replace(_AUTH, realm_id="own", client="other")),
    admin_event("7", auth=replace(_AUTH, user_id="jane", ip_address="192.0.2.2")),
    admin_event("8", resource_path="u%ers/[8]?_*"),
    admin_event("9", auth=AuthDetails(), resource_path="users/Ärger"),
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (AdminEventQuery(operations=("DELETE",)), "2"),
        (AdminEventQuery(operations=("DELETE", "CREATE")), "987654321"),
        (AdminEventQuery(operations=tuple(OperationType)), "987654321"),
        (AdminEventQuery(resources=("CLIENT",)), "3"),
        (AdminEventQuery(resources=("CLIENT", "REALM")), "3"),
        (AdminEventQuery(auth_realm_id="own"), "6"),
        (AdminEventQuery(auth_client="other"), "6"),
        (AdminEventQuery(auth_user_id="jane"), "7"),
        (AdminEventQuery(ip_address="192.0.2.2"), "7"),
        (AdminEventQuery(auth_user_id="admin", resources=("CLIENT",)), "3"),
        (AdminEventQuery(auth_user_id="jane", resources=("CLIENT",)), ""),
        (AdminEventQuery(period=Period(NOW.replace(second=20), NOW.replace(second=22))), "65"),
        (AdminEventQuery(resource_path="users/1"), "1"),
        (AdminEventQuery(resource_path="users"), ""),
        (AdminEventQuery(resource_path="Users/1"), ""),
        (AdminEventQuery(resource_path="users/*"), "976421"),
        (AdminEventQuery(resource_path="USERS/*"), ""),
        (AdminEventQuery(resource_path="*/3"), "3"),
        (AdminEventQuery(resource_path="*"), "987654321"),
        (AdminEventQuery(resource_path="***"), "987654321"),
        (AdminEventQuery(resource_path="users/*/realm"), "4"),
        (AdminEventQuery(resource_path="users/**/realm"), "4"),
        (AdminEventQuery(resource_path="*role*"), "4"),
        (AdminEventQuery(resource_path="users/Ä*"), "9"),
        (AdminEventQuery(resource_path="u%*"), "8"),
        (AdminEventQuery(resource_path="users/_*"), ""),
        (AdminEventQuery(resource_path="u%ers/[8]?_*"), "8"),
        (AdminEventQuery(resource_path="*/[0-9]"), ""),
        (AdminEventQuery(resource_path="*?_*"), "8"),
        (AdminEventQuery(resource_path="*%*"), "8"),
        (AdminEventQuery(resource_path="*/[8]*"), "8"),
        (AdminEventQuery(resource_path="users/*", operations=("DELETE",)), "2"),
        (AdminEventQuery(resource_path="*/2", auth_user_id="admin"), "2"),
        (AdminEventQuery(resource_path="users/*", ip_address="192.0.2.2"), "7"),
        (AdminEventQuery(resource_path="users/\0*"), ""),
        (AdminEventQuery(resource_path="\ud800*"), ""),
        (AdminEventQuery(resource_path="a" * 256 + "*"), ""),
    ],
)
async def test_each_filter_and_any_of_them_together_find_what_matches(
    database: SqlDatabase, query: AdminEventQuery, expected: str
) -> None:
    await store_realms(database, "demo")
    await _store(database, *_VARIED)
    assert await _found(database, query) == list(expected)
    oldest_first = await _found(database, query, EventPage(newest_first=False))
    assert oldest_first == list(reversed(expected))


async def test_a_path_that_would_take_long_to_compare_is_refused(database: SqlDatabase) -> None:
    with pytest.raises(InvalidInput):
        await _found(database, AdminEventQuery(resource_path="a*b*c*d*e*f*g"))


async def test_the_oldest_are_removed_so_many_at_a_time(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    await _store(database, *(admin_event(str(number)) for number in range(1, 6)))
    async with database.write() as stores:
        assert await stores.admin_events.remove_oldest("demo-id", admin_event("4").time, 2) == 2
    assert await _found(database) == ["5", "4", "3"]
