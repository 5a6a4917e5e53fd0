"""Protected sites on both databases: a host belongs to one site of one realm."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from gateway.domain.errors import AlreadyExists
from gateway.domain.forward_auth import PathPattern, Rule, Site, UnreadableSite
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.schema import sites as rows
from tests.support.stored_values import realm, store_realms

WIKI = Site(
    name="wiki",
    hosts=("wiki.example.org", "docs.example.org"),
    realms=("demo",),
    rules=(Rule("all", (PathPattern("/*"),), methods=frozenset({"GET"})),),
    client="wiki",
)


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.sites.put_site("demo-id", WIKI)
    return database


async def test_a_stored_site_is_found_by_name_in_its_realm_alone(stored: SqlDatabase) -> None:
    async with stored.read() as stores:
        assert await stores.sites.find_site("demo-id", "wiki") == WIKI
        assert await stores.sites.find_site("other-id", "wiki") is None
        assert await stores.sites.find_site("demo-id", "Wiki") is None
        assert await stores.sites.find_site("demo-id", "w\0" + "x" * 300) is None


async def test_sites_are_listed_by_name_and_by_realm(stored: SqlDatabase) -> None:
    first = replace(WIKI, name="api", hosts=("api.example.org",))
    of_other = replace(first, name="shop", hosts=("shop.example.org",), realms=("other",))
    async with stored.write() as stores:
        await stores.sites.put_site("demo-id", first)
        await stores.sites.put_site("other-id", of_other)
        assert await stores.sites.list_sites("demo-id") == (first, WIKI)
        assert await stores.sites.list_sites("unknown-id") == ()
        assert await stores.sites.all() == {"demo-id": (first, WIKI), "other-id": (of_other,)}


async def test_a_site_is_replaced_with_its_hosts(stored: SqlDatabase) -> None:
    moved = replace(WIKI, hosts=("docs.example.org", "new.example.org"))
    taking = replace(WIKI, name="second", hosts=("wiki.example.org",))
    async with stored.write() as stores:
        await stores.sites.put_site("demo-id", moved)
        await stores.sites.put_site("demo-id", taking)
        assert await stores.sites.list_sites("demo-id") == (taking, moved)


@pytest.mark.parametrize(("owner", "name"), [("demo", "second"), ("other", "wiki")])
async def test_a_host_of_another_site_is_refused_and_nothing_changes(
    stored: SqlDatabase, owner: str, name: str
) -> None:
    taking = replace(WIKI, name=name, realms=(owner,), hosts=("a.org", "docs.example.org"))
    with pytest.raises(AlreadyExists, match=r"^Host docs\.example\.org belongs to another site$"):
        async with stored.write() as stores:
            await stores.sites.put_site(f"{owner}-id", taking)
    async with stored.read() as stores:
        assert await stores.sites.all() == {"demo-id": (WIKI,)}


@pytest.mark.parametrize(
    "host", ["docs.example.org:8443", "*.example.org", "*.example.org:8443", "*.docs.example.org"]
)
async def test_a_name_of_another_realm_is_refused_under_any_port(
    stored: SqlDatabase, host: str
) -> None:
    async with stored.write() as stores:
        await stores.sites.put_site(
            "demo-id", replace(WIKI, name="below", hosts=("a.docs.example.org",))
        )
        await stores.sites.put_site("demo-id", replace(WIKI, name="own", hosts=(host,)))
        assert await stores.sites.remove_site("demo-id", "own")
    with pytest.raises(AlreadyExists, match=r"belongs to another realm"):
        async with stored.write() as stores:
            await stores.sites.put_site("other-id", replace(WIKI, realms=("other",), hosts=(host,)))


@pytest.mark.parametrize("others", ["docs.example.net:8443", "*.example.net"])
async def test_of_transactions_at_once_one_gets_a_name(database: SqlDatabase, others: str) -> None:
    """PostgreSQL shows a transaction no rows that others have not committed."""
    await store_realms(database, "demo", "other")
    both = asyncio.Barrier(2)

    async def take(owner: str, host: str) -> bool:
        try:
            await both.wait()
            async with database.write() as stores:
                site = replace(WIKI, realms=(owner,), hosts=(host,))
                await stores.sites.put_site(f"{owner}-id", site)
                await asyncio.sleep(0)
        except AlreadyExists:
            return False
        return True

    for _ in range(5):
        taken = await asyncio.gather(take("demo", "docs.example.net"), take("other", others))
        assert sorted(taken) == [False, True]
        async with database.write() as stores:
            for owner in ("demo", "other"):
                await stores.sites.remove_site(f"{owner}-id", WIKI.name)


async def test_a_removed_site_frees_its_hosts(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        assert await stores.sites.remove_site("demo-id", "wiki")
        assert not await stores.sites.remove_site("demo-id", "wiki")
        await stores.sites.put_site("other-id", replace(WIKI, realms=("other",)))


async def test_a_removed_realm_frees_the_hosts_of_its_sites(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.realms.remove_realm("demo-id")
        await stores.sites.put_site("other-id", replace(WIKI, realms=("other",)))


async def test_a_renamed_realm_keeps_its_sites_under_its_new_name(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.realms.replace(replace(realm("demo"), name="renamed"))
        assert await stores.sites.list_sites("demo-id") == (replace(WIKI, realms=("renamed",)),)


async def test_a_site_of_a_later_version_is_skipped_and_reported(
    stored: SqlDatabase,
) -> None:
    async with stored.write() as stores:
        later = update(rows).values(
            document={"version": 1, "hosts": ["a"], "rules": [], "later": 1}
        )
        await stores.transaction.execute(later)
    async with stored.read() as stores:
        with capture_logs() as logs:
            assert await stores.sites.all() == {}
            assert await stores.sites.list_sites("demo-id") == ()
        found = await stores.sites.find_site("demo-id", "wiki")
        assert isinstance(found, UnreadableSite)
        assert (found.name, found.realm, "later" in found.reason) == ("wiki", "demo", True)
        assert await stores.sites.list_unreadable() == (found,)
        assert await stores.sites.list_unreadable("demo-id") == (found,)
        assert await stores.sites.list_unreadable("other-id") == ()
    assert [(log["event"], log["site"]) for log in logs] == [("site cannot be read", "wiki")] * 2
