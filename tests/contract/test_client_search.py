"""Clients found by parts of their names and by attributes, the same on both databases."""

from collections.abc import Mapping

import pytest

from gateway.domain.ports.storage import ClientSearch
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, store_realms

NAMES = ("Alpha", "alphabet", "beta", "be_ta", "be%ta", "É-client", 'quoted"\\')
ATTRIBUTES = {
    "alphabet": {"team": "red", "a b": "c d"},
    "beta": {"team": "red", 'odd."name\\': "x", "schlüssel": "grün ☃"},
    "Alpha": {"team": "blue", "nested.name": "red"},
}


@pytest.fixture
async def clients(database: SqlDatabase) -> SqlDatabase:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for name in NAMES:
            attributes = ATTRIBUTES.get(name, {})
            await stores.clients.add(client(name, attributes=attributes))
        await stores.clients.add(client("alphabet", of="other", attributes={"team": "red"}))
    return database


async def found(
    database: SqlDatabase,
    part: str = "",
    attributes: Mapping[str, str] | None = None,
    *,
    first: int = 0,
    maximum: int = 100,
) -> list[str]:
    async with database.read() as stores:
        search = ClientSearch(part, attributes or {})
        page = await stores.clients.search_clients("demo-id", search, first, maximum)
    assert all(one.realm_id == "demo-id" for one in page)
    return [one.client_id for one in page]


async def test_without_a_search_all_clients_come_sorted_by_name(
    clients: SqlDatabase,
) -> None:
    assert await found(clients) == sorted(NAMES)


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("ALPHA", ["Alpha", "alphabet"]),
        ("bet", ["alphabet", "beta"]),
        ("e_t", ["be_ta"]),
        ("e%t", ["be%ta"]),
        ("%", ["be%ta"]),
        ("É", ["É-client"]),
        ("é", []),
        ('"\\', ['quoted"\\']),
        ("nobody", []),
    ],
)
async def test_a_part_of_the_name_is_taken_as_it_is_written(
    clients: SqlDatabase, part: str, names: list[str]
) -> None:
    assert await found(clients, part) == names


@pytest.mark.parametrize(
    ("attributes", "names"),
    [
        ({"team": "red"}, ["alphabet", "beta"]),
        ({"team": "re"}, []),
        ({"team": "RED"}, []),
        ({"team": "red", "a b": "c d"}, ["alphabet"]),
        ({"team": "red", "a b": "c"}, []),
        ({"nested.name": "red"}, ["Alpha"]),
        ({'odd."name\\': "x"}, ["beta"]),
        ({"schlüssel": "grün ☃"}, ["beta"]),
        ({"": ""}, []),
    ],
)
async def test_attributes_are_found_by_their_whole_value(
    clients: SqlDatabase, attributes: dict[str, str], names: list[str]
) -> None:
    assert await found(clients, attributes=attributes) == names


async def test_part_and_attributes_narrow_together(clients: SqlDatabase) -> None:
    assert await found(clients, "bet", {"team": "red"}) == ["alphabet", "beta"]
    assert await found(clients, "alph", {"team": "red"}) == ["alphabet"]


async def test_a_page_is_a_part_of_the_order(clients: SqlDatabase) -> None:
    assert await found(clients, first=1, maximum=2) == sorted(NAMES)[1:3]
    assert await found(clients, first=99) == []
    assert await found(clients, maximum=0) == []
