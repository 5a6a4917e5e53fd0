"""The deny lists of a worker: current although messages are lost, and unknown in an outage."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from gateway.certificates import DenyList
from gateway.domain.certificates import (
    CertificateFacts,
    CertificationPath,
    DeniedCertificate,
    IssuedSerial,
)
from gateway.domain.distinguished_names import parse_distinguished_name
from gateway.domain.errors import AlreadyExists, StoreUnavailable
from gateway.domain.limits.caches import size_of
from gateway.domain.ports.invalidation import deny_list_topic, realm_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import MASTER, Realm
from gateway.storage import current_deny_lists
from gateway.storage.change_follower import ChangeFollower, FollowedRevocations
from gateway.storage.current_deny_lists import CHANGES_AGE, CurrentDenyLists
from gateway.storage.sql.database import SqlDatabase
from tests.support.cache_surroundings import InvalidationMessages
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, realm, store_realms

ISSUER = parse_distinguished_name("CN=Devices,O=Acme")
SHA256 = bytes(range(32))
THUMBPRINT = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
DAY = timedelta(days=1)


class _Silence(InvalidationMessages):
    """Invalidation whose messages never arrive: only the change log does."""

    async def publish(self, topics: Sequence[str]) -> None:
        """Lose them."""

    def deliver(self, topics: Sequence[str]) -> None:
        for topic in topics:
            self.send(topic)


@dataclass
class _Gateway:
    """Another gateway than the one that changes the lists."""

    database: SqlDatabase
    clock: SetClock
    lists: CurrentDenyLists
    messages: _Silence
    is_down: bool = False
    meanwhile: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    """What happens before each of the next queries."""
    afterwards: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    """What happens after each of them, before its result is used."""

    async def refusal(self, of: Realm | None = None, *above: CertificateFacts) -> str | None:
        path = CertificationPath.of(_certificate(), *above)
        return await self.lists.refusal(path, of or realm("demo"), self.clock.now())


def _certificate(serial: int = 7, digest: bytes = SHA256) -> CertificateFacts:
    return CertificateFacts(ISSUER, ISSUER, serial, NOW - DAY, NOW + DAY, digest)


@pytest.fixture
async def gateway(database: SqlDatabase, other_gateway: SqlDatabase) -> _Gateway:
    await store_realms(database, "demo", "other", MASTER)
    made: _Gateway
    messages, clock = _Silence(), SetClock(NOW)

    class Switched:
        @asynccontextmanager
        async def read(self) -> AsyncIterator[Stores]:
            if made.is_down:
                raise StoreUnavailable("sql")
            if made.meanwhile:
                await made.meanwhile.pop(0)()
            async with other_gateway.read() as stores:
                yield stores
            if made.afterwards:
                await made.afterwards.pop(0)()

    class Followed(FollowedRevocations):
        async def catch_up(self, realm_id: str) -> None:
            if made.is_down:
                raise StoreUnavailable("sql")
            await super().catch_up(realm_id)

    follower = ChangeFollower(other_gateway.changes, messages.deliver)
    switched: Any = Switched()
    changes = Followed(other_gateway.lookups, follower)
    made = _Gateway(database, clock, CurrentDenyLists(switched, clock, messages, changes), messages)
    return made


async def _deny(
    database: SqlDatabase,
    certificate: str | IssuedSerial = THUMBPRINT,
    *,
    of: str = "demo",
    until: datetime | None = None,
) -> None:
    async with database.write() as stores:
        given = "" if isinstance(certificate, IssuedSerial) else certificate
        entry = DeniedCertificate(given, NOW, reason="stolen", expires_at=until)
        if isinstance(certificate, IssuedSerial):
            issuer, serial = certificate.issuer, certificate.serial
            entry = replace(entry, id=certificate.digest, issuer=issuer, serial=serial)
        await stores.denied_certificates.add(f"{of}-id", entry)
        await stores.change_log.record([deny_list_topic(f"{of}-id")])


async def test_an_entry_counts_although_its_message_is_lost(gateway: _Gateway) -> None:
    assert await gateway.refusal() is None
    await _deny(gateway.database)
    gateway.clock.advance(CHANGES_AGE)
    assert await gateway.refusal() == "it is on the deny list of the realm demo"
    assert await gateway.refusal(realm("other")) is None
    assert await gateway.lists.denies(realm("demo"), THUMBPRINT, NOW)
    assert timedelta(seconds=1) > CHANGES_AGE

    async with gateway.database.write() as stores:
        await stores.denied_certificates.remove_value("demo-id", THUMBPRINT)
        await stores.change_log.record([deny_list_topic("demo-id")])
    gateway.clock.advance(CHANGES_AGE)
    assert await gateway.refusal() is None


@pytest.mark.parametrize("place", range(3))
async def test_an_entry_added_while_lists_are_read_counts_at_next_use(
    gateway: _Gateway, place: int
) -> None:
    """That no list had an entry is remembered only where none was added meanwhile."""

    async def nothing() -> None:
        pass

    async def deny() -> None:
        await _deny(gateway.database)
        gateway.messages.deliver([deny_list_topic("demo-id")])

    gateway.meanwhile = [*[nothing] * place, deny]
    await gateway.refusal()
    assert not gateway.meanwhile
    assert await gateway.refusal() == "it is on the deny list of the realm demo"


async def test_an_entry_added_after_a_list_was_read_counts_at_once(
    gateway: _Gateway,
) -> None:
    async def deny() -> None:
        await _deny(gateway.database)
        gateway.messages.deliver([deny_list_topic("demo-id")])

    gateway.afterwards = [deny]
    assert await gateway.refusal() == "it is on the deny list of the realm demo"


@pytest.mark.parametrize("before", [True, False])
async def test_a_new_connection_to_the_messages_reads_every_list_again(
    gateway: _Gateway, *, before: bool
) -> None:
    """The change log is not read so soon. `before`: an entry of the realm has counted before."""
    if before:
        await _deny(gateway.database, IssuedSerial(ISSUER, 9))
    assert await gateway.refusal() is None
    await _deny(gateway.database)
    assert await gateway.refusal() is None
    gateway.messages.send(None)
    assert await gateway.refusal() == "it is on the deny list of the realm demo"


async def test_the_change_log_is_read_although_the_clock_was_set_back(gateway: _Gateway) -> None:
    assert await gateway.refusal() is None
    await _deny(gateway.database)
    gateway.clock.advance(-DAY)
    assert await gateway.refusal() == "it is on the deny list of the realm demo"


async def test_a_realm_that_changes_has_its_list_read_again(gateway: _Gateway) -> None:
    """It may have been removed, and made again with the same id and no entries."""
    await _deny(gateway.database)
    assert await gateway.refusal() is not None
    async with gateway.database.write() as stores:
        await stores.denied_certificates.remove_value("demo-id", THUMBPRINT)
    gateway.messages.deliver([realm_topic("demo-id")])
    assert await gateway.refusal() is None


async def test_lists_weigh_what_their_entries_take(
    gateway: _Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that a realm has no entries is remembered of a limited number of realms."""
    for serial in range(40, 60):
        await _deny(gateway.database, IssuedSerial(ISSUER, serial))
    await gateway.refusal()
    assert gateway.lists._lists.bytes > 20 * 400
    monkeypatch.setattr(current_deny_lists, "_MOST_WITHOUT_ENTRIES", 1)
    for name in ("other", MASTER):
        assert await gateway.refusal(realm(name)) is None
    assert gateway.lists._without_entries == {f"{MASTER}-id"}


@pytest.mark.parametrize("of", [MASTER, "demo"])
async def test_a_first_entry_counts_after_its_message(gateway: _Gateway, of: str) -> None:
    assert await gateway.refusal() is None
    await _deny(gateway.database, of=of)
    gateway.messages.deliver([deny_list_topic(f"{of}-id")])
    assert await gateway.refusal() == f"it is on the deny list of the realm {of}"


async def test_in_an_outage_certificates_are_not_decided(
    gateway: _Gateway,
) -> None:
    gateway.is_down = True
    with pytest.raises(StoreUnavailable):
        await gateway.refusal()
    gateway.is_down = False
    assert await gateway.refusal() is None
    gateway.is_down = True
    gateway.clock.advance(CHANGES_AGE)
    with pytest.raises(StoreUnavailable):
        await gateway.refusal()


async def test_issuer_and_serial_name_the_certificate_together(gateway: _Gateway) -> None:
    await _deny(gateway.database, IssuedSerial(ISSUER, 8))
    await _deny(gateway.database, IssuedSerial(parse_distinguished_name("CN=Other"), 7))
    assert await gateway.refusal() is None
    authority = _certificate(8, b"\0" * 32)
    expected = "the authority CN=Devices,O=Acme is on the deny list of the realm demo"
    assert await gateway.refusal(realm("demo"), authority) == expected


async def test_long_and_short_issuers_take_the_same_memory(
    gateway: _Gateway,
) -> None:
    """Administrators of a realm choose the names, which are not parsed for comparisons."""
    long = parse_distinguished_name(",".join(["C=a"] * 200))
    for serial in range(3):
        await _deny(gateway.database, IssuedSerial(long, serial), of="other")
        await _deny(gateway.database, IssuedSerial(ISSUER, serial))
    sizes = []
    for name in ("other", "demo"):
        assert await gateway.refusal(realm(name)) is None
        loaded = gateway.lists._lists.get(f"{name}-id")
        sizes.append(size_of([getattr(loaded, slot) for slot in DenyList.__slots__]))
    assert sizes[0] == sizes[1]


async def test_the_list_of_master_counts_in_every_realm(gateway: _Gateway) -> None:
    await _deny(gateway.database, of=MASTER)
    expected = "it is on the deny list of the realm master"
    assert [await gateway.refusal(realm(name)) for name in ("demo", MASTER)] == [expected] * 2


async def test_an_entry_counts_until_it_expires_and_is_purged_then(gateway: _Gateway) -> None:
    await _deny(gateway.database, until=NOW + DAY)
    await _deny(gateway.database, IssuedSerial(ISSUER, 9))
    gateway.clock.advance(DAY - timedelta(microseconds=1))
    assert await gateway.refusal() is not None
    gateway.clock.advance(timedelta(microseconds=1))
    assert await gateway.refusal() is None
    async with gateway.database.write() as stores:
        assert await stores.denied_certificates.purge(NOW + DAY) == 0
        assert await stores.denied_certificates.purge(NOW + DAY + timedelta(microseconds=1)) == 1
        assert await stores.denied_certificates.count_values("demo-id") == 1


async def test_a_certificate_is_denied_once(gateway: _Gateway) -> None:
    await _deny(gateway.database)
    with pytest.raises(AlreadyExists):
        await _deny(gateway.database)
