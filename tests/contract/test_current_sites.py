"""The sites that a worker protects: read again once they change, kept in outages."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, update
from structlog.testing import capture_logs

from gateway.domain.errors import StoreUnavailable
from gateway.domain.forward_auth import OriginalRequest, PathPattern, Rule, Site
from gateway.domain.hosts import proxy_server
from gateway.domain.ports.invalidation import realm_topic, user_topic
from gateway.domain.ports.storage import Stores
from gateway.forward_auth.decisions import find_rule
from gateway.forward_auth.site_table import UnknownServer
from gateway.representations.sites import parse_rules_file
from gateway.storage.current_sites import CurrentSites, RulesFile
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.schema import site_hosts, sites
from tests.support.cache_surroundings import InvalidationMessages, SwitchedDatabase
from tests.support.set_clock import SetClock
from tests.support.stored_documents import site_document
from tests.support.stored_values import NOW, realm, store_realms

AGE = timedelta(seconds=60)
RULES = (Rule("all", (PathPattern("/*"),)),)
WIKI = Site("wiki", ("wiki.example.org",), ("demo",), RULES)
SHOP = Site("shop", ("shop.example.org",), ("other",), RULES)


@dataclass
class _Switched(SwitchedDatabase):
    """Can be made to wait, too."""

    may_read: asyncio.Event = field(default_factory=asyncio.Event)
    has_snapshot: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Stores]:
        async with super().read() as stores:
            await stores.realms.list_realms()  # the snapshot is taken here
            self.has_snapshot.set()
            await self.may_read.wait()
            yield stores


@dataclass
class _Log:
    """The change log: topics whose messages were lost. Counts how often it is read."""

    channel: InvalidationMessages
    topics: list[str] = field(default_factory=list)
    is_down: bool = False
    reads: int = 0

    async def read(self) -> None:
        self.reads += 1
        if self.is_down:
            raise StoreUnavailable("sql")
        while self.topics:
            self.channel.send(self.topics.pop())


class _File:
    """A rules file in memory."""

    path = None

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read_content(self) -> bytes:
        return self.content

    def read_if_changed(self) -> bytes:
        return self.content


@dataclass(frozen=True)
class _Setup:
    database: SqlDatabase
    switched: _Switched
    clock: SetClock
    channel: InvalidationMessages
    log: _Log
    current: CurrentSites

    async def put(self, owner: str, site: Site) -> None:
        async with self.database.write() as stores:
            await stores.sites.put_site(f"{owner}-id", site)

    async def hosts(self) -> set[str]:
        return {host for site in (await self.current.table()).sites for host in site.hosts}


def _set_up(database: SqlDatabase, file: RulesFile | None = None) -> _Setup:
    switched, clock, channel = _Switched(database), SetClock(NOW), InvalidationMessages()
    switched.may_read.set()
    any_database: Any = switched
    log = _Log(channel)
    current = CurrentSites(any_database, clock, channel, read_changes=log.read, file=file, age=AGE)
    return _Setup(database, switched, clock, channel, log, current)


@pytest.fixture
async def setup(database: SqlDatabase) -> _Setup:
    await store_realms(database, "demo", "other")
    made = _set_up(database)
    await made.put("demo", WIKI)
    return made


async def test_the_table_is_read_once_and_stays_the_same_object(setup: _Setup) -> None:
    table = await setup.current.table()
    assert table.site("wiki.example.org") == WIKI
    assert await setup.current.table() is table
    assert setup.switched.reads == 1
    setup.clock.advance(AGE)
    assert await setup.current.table() is table
    assert setup.switched.reads == 2


async def test_a_realm_change_counts_at_once_and_a_user_change_is_free(
    setup: _Setup,
) -> None:
    assert await setup.hosts() == {"wiki.example.org"}
    await setup.put("other", SHOP)
    setup.channel.send(user_topic("other-id", "alice"))
    assert await setup.hosts() == {"wiki.example.org"}
    assert setup.switched.reads == 1
    setup.channel.send(realm_topic("other-id"))
    assert await setup.hosts() == {"wiki.example.org", "shop.example.org"}


async def test_a_change_with_a_lost_message_counts_in_half_a_second(setup: _Setup) -> None:
    assert await setup.hosts() == {"wiki.example.org"}
    await setup.put("other", SHOP)
    setup.log.topics.append(realm_topic("other-id"))
    assert await setup.hosts() == {"wiki.example.org"}
    assert setup.log.reads == 1, "the change log is read twice a second at most"
    setup.clock.advance(timedelta(milliseconds=500))
    assert await setup.hosts() == {"wiki.example.org", "shop.example.org"}


async def test_a_removed_realm_has_no_sites(setup: _Setup) -> None:
    assert await setup.hosts()
    async with setup.database.write() as stores:
        await stores.realms.remove_realm("demo-id")
    setup.channel.send(realm_topic("demo-id"))
    assert await setup.hosts() == set()


async def test_a_renamed_realm_is_named_by_its_sites(setup: _Setup) -> None:
    await setup.current.table()
    async with setup.database.write() as stores:
        await stores.realms.replace(replace(realm("demo"), name="renamed"))
    setup.channel.send(realm_topic("demo-id"))
    found = (await setup.current.table()).site("wiki.example.org")
    assert found is not None
    assert found.realms == ("renamed",)


@pytest.mark.parametrize("lost", [True, False])
async def test_a_change_without_message_counts_by_reconnection_or_age(
    setup: _Setup, *, lost: bool
) -> None:
    await setup.current.table()
    await setup.put("other", SHOP)
    if lost:
        setup.channel.send(None)
    else:
        setup.channel.connected = False
        setup.clock.advance(timedelta(seconds=5))
    assert await setup.hosts() == {"wiki.example.org", "shop.example.org"}


async def test_no_caller_gets_the_old_table_during_a_reload(
    setup: _Setup,
) -> None:
    await setup.current.table()
    setup.channel.send(realm_topic("other-id"))
    setup.switched.may_read.clear()
    setup.switched.has_snapshot.clear()
    first = asyncio.create_task(setup.hosts())
    await setup.switched.has_snapshot.wait()
    second = asyncio.create_task(setup.hosts())
    await asyncio.sleep(0)
    # This change comes after the snapshot of the transaction in progress.
    await setup.put("other", SHOP)
    setup.channel.send(realm_topic("other-id"))
    setup.switched.may_read.set()
    await first
    assert await second == {"wiki.example.org", "shop.example.org"}
    assert await setup.hosts() == {"wiki.example.org", "shop.example.org"}


async def test_without_the_database_the_sites_stay_for_an_hour(setup: _Setup) -> None:
    await setup.current.table()
    setup.switched.is_down = setup.log.is_down = True
    setup.clock.advance(AGE)
    assert await setup.hosts() == {"wiki.example.org"}
    reads = setup.switched.reads
    assert await setup.hosts() == {"wiki.example.org"}
    assert setup.switched.reads == reads, "the next query waits a second"
    setup.clock.advance(timedelta(hours=1))
    with pytest.raises(StoreUnavailable):
        await setup.current.table()


async def test_changed_sites_are_not_used_without_the_database(
    setup: _Setup,
) -> None:
    await setup.current.table()
    setup.switched.is_down = True
    setup.channel.send(realm_topic("demo-id"))
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await setup.current.table()
    assert setup.switched.reads == 2, "the next query waits a second"
    setup.switched.is_down = False
    setup.clock.advance(timedelta(seconds=1))
    assert await setup.hosts() == {"wiki.example.org"}


async def test_without_the_database_nothing_is_known_at_first(setup: _Setup) -> None:
    setup.switched.is_down = True
    with pytest.raises(StoreUnavailable):
        await setup.current.table()


def _toml(*hosts: str) -> bytes:
    listed = ", ".join(f'"{host}"' for host in hosts)
    return f'[[sites]]\nname = "ours"\nhosts = [{listed}]\nrealms = ["demo"]\n'.encode()


async def test_a_host_of_the_rules_file_is_not_that_of_a_realms_site(setup: _Setup) -> None:
    content: Any = _File(_toml("wiki.example.org"))
    file = RulesFile(content, "rules.toml", parse_rules_file)
    file.load()
    made = _set_up(setup.database, file)
    await made.put("demo", replace(WIKI, hosts=("wiki.example.org", "docs.example.org")))
    table = await made.current.table()
    sites = {host: table.site(host) for host in ("wiki.example.org", "docs.example.org")}
    assert {host: site and site.name for host, site in sites.items()} == {
        "wiki.example.org": "ours",
        "docs.example.org": "wiki",
    }


async def test_no_realm_has_a_name_of_the_file_under_any_port(
    setup: _Setup,
) -> None:
    content: Any = _File(_toml("wiki.example.org:8443", "*.apps.example.org"))
    file = RulesFile(content, "rules.toml", parse_rules_file)
    file.load()
    made = _set_up(setup.database, file)
    await made.put("other", replace(SHOP, hosts=("shop.apps.example.org", "shop.example.org")))
    assert await made.hosts() == {"wiki.example.org:8443", "*.apps.example.org", "shop.example.org"}


async def test_a_name_of_two_realms_is_refused_and_logged_once(setup: _Setup) -> None:
    """A former version let two realms have a host name under different ports."""
    await setup.put("other", replace(SHOP, hosts=("shop.example.org", "taken.example.org:1")))
    async with setup.database.write() as stores:
        taking = {"host": "taken.example.org", "realm_id": "demo-id", "site": "wiki"}
        document = site_document(replace(WIKI, hosts=("wiki.example.org", "taken.example.org")))
        await stores.transaction.execute(insert(site_hosts).values(taking))
        await stores.transaction.execute(
            update(sites).where(sites.c.name == "wiki").values(document=document)
        )
    with capture_logs() as logs:
        assert await setup.hosts() == {"wiki.example.org", "shop.example.org"}
        setup.channel.send(None)
        assert await setup.hosts() == {"wiki.example.org", "shop.example.org"}
    (log,) = (each for each in logs if each["event"] == "host is contested")
    assert (log["host"], log["log_level"]) == ("taken.example.org", "error")
    claims = "the site shop of the realm other, the site wiki of the realm demo"
    assert log["reason"] == f"taken.example.org is a host of {claims}"
    table = await setup.current.table()
    with pytest.raises(UnknownServer, match=claims):
        table.find_site("taken.example.org:1", None)
    await setup.put("other", SHOP)
    setup.channel.send(realm_topic("other-id"))
    assert "taken.example.org" in await setup.hosts()


async def test_a_wildcard_opens_no_host_of_an_unreadable_site(setup: _Setup) -> None:
    """A later version stored the site. attacks: B4."""
    await setup.put("demo", replace(WIKI, name="all", hosts=("*.example.org",)))
    read_as_later = site_document(WIKI) | {"later": 1}
    async with setup.database.write() as stores:
        later = update(sites).where(sites.c.name == "wiki").values(document=read_as_later)
        await stores.transaction.execute(later)
    for topic in (None, realm_topic("demo-id")):
        setup.channel.send(topic)
        table = await setup.current.table()
        for name, is_open in (("wiki.example.org", False), ("shop.example.org", True)):
            request = OriginalRequest("GET", "https", name, "/", f"{name}:443")
            found = find_rule(table, request)
            assert isinstance(found, tuple) is is_open, (topic, name, found)
        with pytest.raises(UnknownServer):
            table.find_site("wiki.example.org", proxy_server("*.example.org:443", "https"))
    await setup.put("demo", WIKI)
    setup.channel.send(realm_topic("demo-id"))
    assert (await setup.current.table()).site("wiki.example.org") == WIKI


async def test_a_new_version_of_the_file_counts_without_the_database(setup: _Setup) -> None:
    content: Any = _File(_toml("a.example.org"))
    file = RulesFile(content, "rules.toml", parse_rules_file)
    file.load()
    made = _set_up(setup.database, file)
    assert await made.hosts() == {"a.example.org", "wiki.example.org"}
    made.switched.is_down = True
    content.content = _toml("b.example.org")
    await file.refresh()
    assert await made.hosts() == {"b.example.org", "wiki.example.org"}
