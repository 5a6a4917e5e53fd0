"""The clients that may own a certificate: in memory until a client of the realm changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from gateway.domain.clients import Client, certificate_terms, with_attributes
from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.invalidation import client_topic, realm_topic
from gateway.domain.ports.storage import Stores
from gateway.storage import certificate_owners
from gateway.storage.certificate_owners import CachedCertificateOwners
from gateway.storage.sql.database import SqlDatabase
from tests.support.cache_surroundings import InvalidationMessages, SwitchedDatabase
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, client, store_realms

AGE = timedelta(seconds=60)


@dataclass
class _Surroundings(InvalidationMessages, SwitchedDatabase):
    meanwhile: list[str] = field(default_factory=list)
    """Topics of messages that arrive while something is read."""
    held: asyncio.Event | None = None
    """What the next read waits for once it has read."""

    @property
    def is_held(self) -> bool:
        """Tell whether no read waits yet."""
        return self.held is not None

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Stores]:
        async with super().read() as stores:
            yield stores
        held, self.held = self.held, None
        if held is not None:
            await held.wait()
        while self.meanwhile:
            self.send(self.meanwhile.pop())


@dataclass(frozen=True)
class _Setup:
    around: _Surroundings
    clock: SetClock
    owners: CachedCertificateOwners

    async def add(self, *clients: Client) -> None:
        async with self.around.database.write() as stores:
            for each in clients:
                await stores.clients.add(each)

    async def found(self, *names: str, realm: str = "demo-id", most: int = 10) -> list[str]:
        terms = frozenset[str]().union(*(certificate_terms(_known("x", name)) for name in names))
        return list(await self.owners.with_terms(realm, terms, most))


def _known(client_id: str, name: str) -> Client:
    known = client(client_id, client_authenticator_type="client-x509")
    return with_attributes(known, {"realmgate.certificate.san.dns": f"{name}.example"})


@pytest.fixture
async def setup(database: SqlDatabase) -> _Setup:
    await store_realms(database, "demo", "other")
    around, clock = _Surroundings(database), SetClock(NOW)
    anything: Any = around
    owners = CachedCertificateOwners(anything, clock, anything, age=AGE)
    made = _Setup(around, clock, owners)
    await made.add(_known("one", "one"), _known("two", "two"), _known("also-two", "two"))
    return made


async def test_one_query_serves_every_certificate_of_a_realm(setup: _Setup) -> None:
    assert await setup.found("one") == ["one"]
    assert await setup.found("two") == ["also-two", "two"]
    assert await setup.found("two", "one", most=2) == ["also-two", "one"]
    assert await setup.found("three") == []
    assert await setup.found() == []
    assert setup.around.reads == 1
    assert await setup.found("one", realm="other-id") == []


@pytest.mark.parametrize("topic", [client_topic("demo-id", "three-id"), realm_topic("demo-id")])
async def test_a_changed_client_is_found_after_the_message(setup: _Setup, topic: str) -> None:
    """As for a client that is known by its id, on every gateway."""
    assert await setup.found("three") == []
    await setup.add(_known("three", "three"))
    setup.around.send(client_topic("other-id", "three-id"))
    assert await setup.found("three") == []
    setup.around.send(topic)
    assert await setup.found("three") == ["three"]


async def test_a_change_during_the_query_is_not_missed(setup: _Setup) -> None:
    setup.around.meanwhile.append(client_topic("demo-id", "three-id"))
    assert await setup.found("three") == []
    await setup.add(_known("three", "three"))
    assert await setup.found("three") == ["three"]


async def test_a_request_after_the_message_joins_no_earlier_query(setup: _Setup) -> None:
    """One that is slow could answer with what was true before, however long ago that is."""
    release = setup.around.held = asyncio.Event()
    before = asyncio.create_task(setup.found("three"))
    while setup.around.is_held:  # noqa: ASYNC110 - the read tells nobody
        await asyncio.sleep(0)
    await setup.add(_known("three", "three"))
    setup.around.send(client_topic("demo-id", "three-id"))
    assert await asyncio.wait_for(setup.found("three"), 5) == ["three"]
    release.set()
    assert await before == []
    assert await setup.found("three") == ["three"]


async def test_a_clock_that_was_set_back_makes_nothing_younger(setup: _Setup) -> None:
    assert await setup.found("three") == []
    await setup.add(_known("three", "three"))
    setup.clock.advance(timedelta(days=-1))
    assert await setup.found("three") == ["three"]


async def test_without_messages_a_short_age_stays_short(setup: _Setup) -> None:
    anything: Any = setup.around
    setup.around.connected = False
    brief = replace(
        setup,
        owners=CachedCertificateOwners(anything, setup.clock, anything, age=timedelta(seconds=2)),
    )
    assert await brief.found("three") == []
    await setup.add(_known("three", "three"))
    setup.clock.advance(timedelta(seconds=2))
    assert await brief.found("three") == ["three"]


@pytest.mark.parametrize(("bound", "most"), [("_MOST_BYTES", 20_000), ("_MOST_REALMS", 1)])
async def test_unused_realms_are_dropped_when_the_memory_is_full(
    setup: _Setup, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    """Administrators choose how many names there are, and how long those of clients are."""
    monkeypatch.setattr(certificate_owners, bound, most)
    anything: Any = setup.around
    full = replace(setup, owners=CachedCertificateOwners(anything, setup.clock, anything, age=AGE))
    async with setup.around.database.write() as stores:
        for number in range(30):
            for realm in ("demo", "other"):
                one = _known(f"{realm}-{number}-{'x' * 200}", f"{realm}-{number}")
                await stores.clients.add(replace(one, realm_id=f"{realm}-id"))
    for realm in ("demo-id", "demo-id", "other-id", "other-id", "demo-id"):
        await full.found("one", realm=realm)
    assert setup.around.reads == 3


@pytest.mark.parametrize(("connected", "age"), [(True, 60), (False, 5)])
async def test_a_lost_message_is_made_up_for_by_age(
    setup: _Setup, *, connected: bool, age: int
) -> None:
    setup.around.connected = connected
    assert await setup.found("three") == []
    await setup.add(_known("three", "three"))
    setup.clock.advance(timedelta(seconds=age) - timedelta(milliseconds=1))
    assert await setup.found("three") == []
    setup.clock.advance(timedelta(milliseconds=1))
    assert await setup.found("three") == ["three"]


async def test_a_new_connection_to_the_messages_reads_again(setup: _Setup) -> None:
    assert await setup.found("three") == []
    await setup.add(_known("three", "three"))
    setup.around.send(None)
    assert await setup.found("three") == ["three"]
    assert await setup.found("one") == ["one"]
    assert setup.around.reads == 2


async def test_an_outage_is_no_answer_once_the_age_is_reached(setup: _Setup) -> None:
    """As for a client: it may have been disabled, or given to another certificate."""
    assert await setup.found("one") == ["one"]
    setup.around.is_down = True
    assert await setup.found("one") == ["one"]
    setup.clock.advance(AGE)
    with pytest.raises(StoreUnavailable):
        await setup.found("one")


async def test_too_many_names_stay_in_the_database(
    setup: _Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every owner is found all the same."""
    monkeypatch.setattr(certificate_owners, "MOST_TERMS", 2)
    assert await setup.found("two") == ["also-two", "two"]
    assert await setup.found("one") == ["one"]
    assert setup.around.reads == 3
    await setup.add(_known("three", "three"))
    assert await setup.found("three") == ["three"]
