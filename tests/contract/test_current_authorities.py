"""The registered authorities of realms: read again once they change, kept in outages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from gateway.domain.certificates import Authority, AuthorityKind
from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Stores
from gateway.storage.current_authorities import CurrentAuthorities
from gateway.storage.sql.database import SqlDatabase
from tests.support.cache_surroundings import InvalidationMessages, SwitchedDatabase
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, store_realms

AGE = timedelta(seconds=60)
ANCHOR = Authority("aa" * 32, AuthorityKind.ANCHOR, b"anchor")
LINK = Authority("bb" * 32, AuthorityKind.INTERMEDIATE, b"link")


@dataclass
class _Surroundings(InvalidationMessages, SwitchedDatabase):
    lost: list[str] = field(default_factory=list)
    """Topics of the change log whose messages were lost."""
    meanwhile: list[str] = field(default_factory=list)
    """Topics of messages that arrive after the next query, before its result is used."""

    async def read_changes(self) -> None:
        if self.is_down:
            raise StoreUnavailable("sql")
        while self.lost:
            self.send(self.lost.pop())

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Stores]:
        async with super().read() as stores:
            yield stores
        while self.meanwhile:
            self.send(self.meanwhile.pop())


@dataclass(frozen=True)
class _Setup:
    around: _Surroundings
    clock: SetClock
    current: CurrentAuthorities

    async def put(self, *authorities: Authority) -> None:
        async with self.around.database.write() as stores:
            for authority in authorities:
                await stores.authorities.put_value("demo-id", authority)

    async def known(self) -> list[bytes]:
        return [item.der for item in (await self.current.registered("demo-id")).authorities]


@pytest.fixture
async def setup(database: SqlDatabase) -> _Setup:
    await store_realms(database, "demo", "other")
    around, clock = _Surroundings(database), SetClock(NOW)
    anything: Any = around
    current = CurrentAuthorities(
        anything, clock, anything, read_changes=around.read_changes, age=AGE
    )
    made = _Setup(around, clock, current)
    await made.put(ANCHOR)
    return made


async def test_authorities_are_the_same_object_until_they_change(setup: _Setup) -> None:
    """What was prepared from them, a thousand parsed certificates, stays in use."""
    first = await setup.current.registered("demo-id")
    assert list(first.authorities) == [ANCHOR]
    assert await setup.current.registered("demo-id") is first
    assert setup.around.reads == 1
    setup.around.send(realm_topic("demo-id"))
    assert await setup.current.registered("demo-id") is first
    assert setup.around.reads == 2
    await setup.put(LINK)
    setup.around.send(realm_topic("demo-id"))
    assert await setup.known() == [b"anchor", b"link"]
    assert (await setup.current.registered("other-id")).authorities == ()


async def test_a_change_with_a_lost_message_counts_in_half_a_second(setup: _Setup) -> None:
    await setup.known()
    await setup.put(LINK)
    setup.around.lost.append(realm_topic("demo-id"))
    assert await setup.known() == [b"anchor"]
    setup.clock.advance(timedelta(milliseconds=500))
    assert await setup.known() == [b"anchor", b"link"]


async def test_what_was_read_before_a_message_is_not_kept(setup: _Setup) -> None:
    setup.around.meanwhile.append(realm_topic("demo-id"))
    assert await setup.known() == [b"anchor"]
    await setup.put(LINK)
    assert await setup.known() == [b"anchor", b"link"]


async def test_an_outage_keeps_unchanged_authorities_for_an_hour(
    setup: _Setup,
) -> None:
    """No silent yes: a realm that may have lost an anchor is not answered from memory."""
    await setup.known()
    setup.around.is_down = True
    setup.clock.advance(timedelta(minutes=59))
    assert await setup.known() == [b"anchor"]
    with pytest.raises(StoreUnavailable):
        await setup.current.registered("other-id")
    setup.around.send(realm_topic("demo-id"))
    with pytest.raises(StoreUnavailable):
        await setup.known()
    setup.around.is_down = False
    assert await setup.known() == [b"anchor"]
    setup.around.is_down = True
    setup.clock.advance(timedelta(hours=1))
    with pytest.raises(StoreUnavailable):
        await setup.known()


async def test_a_lost_connection_reads_everything_again(setup: _Setup) -> None:
    await setup.known()
    await setup.put(LINK)
    setup.around.send(None)
    assert await setup.known() == [b"anchor", b"link"]
    setup.around.connected = False
    async with setup.around.database.write() as stores:
        assert await stores.authorities.remove_value("demo-id", LINK.id)
        assert not await stores.authorities.remove_value("demo-id", LINK.id)
    setup.clock.advance(timedelta(seconds=5))
    assert await setup.known() == [b"anchor"]
