"""The cache of realms and clients: fresh by message and by age, bounded, closed on doubt."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar, cast

import pytest

from gateway.crypto.secrets_at_rest import AesGcmSecrets
from gateway.domain.errors import StoreUnavailable
from gateway.domain.keys import RealmKey
from gateway.domain.ports.lookups import (
    ClientEntry,
    Found,
    SignInAccount,
    StoredRealm,
    TokenState,
    UserEntry,
    UserGrants,
)
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.roles import EffectiveRoles
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential
from gateway.storage.cache import CacheLimits, RealmCache
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, client, key, realm, role, user

T = TypeVar("T")
LISTED = {"alwaysDisplayInConsole": True}
NAMED = ("device", "another")


class SetClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.instant = NOW

    def now(self) -> datetime:
        """Return the instant it was set to."""
        return self.instant

    def move(self, by: timedelta) -> None:
        """Go forward, or back."""
        self.instant += by


class Channel:
    """Invalidation whose connection the test decides."""

    def __init__(self) -> None:
        self.connected = True
        self.tell: Callable[[str | None], None] = lambda _topic: None

    async def publish(self, topics: Sequence[str]) -> None:
        """Tell the listener."""
        for topic in topics:
            self.tell(topic)

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        """Remember the one listener."""
        self.tell = listener


class NamedRing:
    """A key ring that only knows its keys."""

    def __init__(self, keys: tuple[RealmKey, ...]) -> None:
        self.kids = [found.kid for found in keys]


class CountingKeyFactory:
    """Counts how often keys are parsed."""

    def __init__(self) -> None:
        self.parsed = 0

    def ring(self, keys: tuple[RealmKey, ...]) -> NamedRing:
        """Name the keys instead of parsing them."""
        self.parsed += 1
        return NamedRing(keys)


class WatchedDatabase:
    """The look-ups of a real database, counted, and held up or cut off where a test wants it."""

    def __init__(self, database: SqlDatabase) -> None:
        self._lookups = database.lookups
        self.write = database.write
        self.reads = 0
        self.snapshots = 0
        self.open = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.away = False

    async def is_revoked(self, realm_id: str, *token_ids: str) -> bool:
        """Ask the real database."""
        return await self._lookups.is_revoked(realm_id, *token_ids)

    async def token_state(
        self, realm_id: str, token_ids: tuple[str, ...], after: int
    ) -> TokenState:
        """Ask the real database."""
        return await self._lookups.token_state(realm_id, token_ids, after)

    async def realm(
        self, name: str, before: Found[StoredRealm] | None = None
    ) -> Found[StoredRealm] | None:
        """Ask the real database."""
        return await self._watched(self._lookups.realm(name, before))

    async def client(
        self, realm_id: str, client_id: str, before: Found[ClientEntry] | None = None
    ) -> Found[ClientEntry] | None:
        """Ask the real database."""
        return await self._watched(self._lookups.client(realm_id, client_id, before))

    async def client_name(self, realm_id: str, client: str) -> str | None:
        """Ask the real database."""
        return await self._watched(self._lookups.client_name(realm_id, client))

    async def always_listed(self, realm_id: str) -> tuple[str, ...]:
        """Ask the real database."""
        return await self._watched(self._lookups.always_listed(realm_id))

    async def credentials(self, realm_id: str, user_id: str) -> tuple[Credential, ...]:
        """Ask the real database."""
        return await self._lookups.credentials(realm_id, user_id)

    async def grants(self, realm_id: str, user_id: str) -> UserGrants:
        """Ask the real database."""
        return await self._lookups.grants(realm_id, user_id)

    async def account(
        self, realm_id: str, name: str, address: str | None, *, key: str | None = None
    ) -> SignInAccount | None:
        """Ask the real database."""
        return await self._lookups.account(realm_id, name, address, key=key)

    async def user(
        self, realm_id: str, user_id: str, before: Found[UserEntry] | None = None
    ) -> Found[UserEntry] | None:
        """Ask the real database."""
        return await self._watched(self._lookups.user(realm_id, user_id, before))

    async def _watched(self, question: Awaitable[T]) -> T:
        """Give the answer when the gate opens, as it was before."""
        self.reads += 1
        self.open += 1
        try:
            found = await question
            self._check()
            self.snapshots += 1
            await self.gate.wait()
            self._check()
            return found
        finally:
            self.open -= 1

    def _check(self) -> None:
        if self.away:
            raise StoreUnavailable("sql")


class Bench:
    """A cache over a real database with one realm and one client in it."""

    def __init__(self, database: WatchedDatabase) -> None:
        self.database = database
        self.clock = SetClock()
        self.channel = Channel()
        self.keys = CountingKeyFactory()
        self.cache = self.another(None)

    def another(self, limits: CacheLimits | None) -> RealmCache:
        """Return a cache over the same database."""
        return RealmCache(
            self.database, cast("KeyFactory", self.keys), self.clock, self.channel, limits
        )

    async def prepare(self) -> None:
        """Store the realm and the client."""
        async with self.database.write() as stores:
            await stores.realms.add(realm("demo"))
            await stores.keys.add(key("kid-1"))
            await stores.clients.add(client("device", service_accounts_enabled=True))
            await stores.users.add(user("account", service_account_client="device-uuid"))
            await stores.roles.add(role("admin"))
            await stores.roles.grant("demo-id", "account-uuid", ["admin-role"])

    async def rename(self) -> None:
        """Change the realm's display name in the database, and tell nobody."""
        async with self.database.write() as stores:
            await stores.realms.replace(realm("demo", display_name="changed"))

    async def disable(self) -> None:
        """Disable the client in the database, and tell nobody."""
        async with self.database.write() as stores:
            await stores.clients.replace(client("device", enabled=False))

    async def shown(self) -> str | None:
        """Return the realm's display name as the cache knows it."""
        entry = await self.cache.realm("demo")
        assert entry is not None
        return entry.realm.display_name

    async def enabled(self) -> bool:
        """Tell whether the client is enabled as the cache knows it."""
        entry = await self.cache.client("demo-id", "device")
        assert entry is not None
        return entry.client.enabled


@pytest.fixture
async def bench(sqlite_database: StoredDatabase) -> AsyncIterator[Bench]:
    database = SqlDatabase(sqlite_database.url, AesGcmSecrets((b"k" * 32,)))
    made = Bench(WatchedDatabase(database))
    await made.prepare()
    yield made
    await eventually(lambda: made.database.open == 0)
    await database.dispose()


async def test_a_realm_comes_with_its_keys(bench: Bench) -> None:
    entry = await bench.cache.realm("demo")
    assert entry is not None
    assert isinstance(entry.key_ring, NamedRing)
    assert (entry.realm.id, entry.key_ring.kids) == ("demo-id", ["kid-1"])


async def test_a_client_comes_with_its_service_account_and_roles(bench: Bench) -> None:
    entry = await bench.cache.client("demo-id", "device")
    assert entry is not None
    assert entry.service_account is not None
    assert entry.service_account.username == "account"
    assert entry.roles == EffectiveRoles(("admin",))


async def test_a_client_without_service_accounts_has_no_roles(bench: Bench) -> None:
    async with bench.database.write() as stores:
        await stores.clients.replace(client("device", service_accounts_enabled=False))
    entry = await bench.cache.client("demo-id", "device")
    assert entry is not None
    assert (entry.service_account, entry.roles) == (None, EffectiveRoles())


async def test_a_second_question_does_not_reach_the_database(bench: Bench) -> None:
    first = await bench.cache.realm("demo"), await bench.cache.client("demo-id", "device")
    reads = bench.database.reads
    second = await bench.cache.realm("demo"), await bench.cache.client("demo-id", "device")
    assert bench.database.reads == reads
    assert first[0] is second[0]
    assert first[1] is second[1]


async def test_a_client_is_found_in_its_own_realm_only(bench: Bench) -> None:
    assert await bench.cache.client("demo-id", "device") is not None
    assert await bench.cache.client("other-id", "device") is None


async def test_a_message_makes_a_change_visible_at_once(bench: Bench) -> None:
    assert (await bench.shown(), await bench.enabled()) == (None, True)
    await bench.rename()
    await bench.disable()
    assert (await bench.shown(), await bench.enabled()) == (None, True)
    await bench.channel.publish(["realm:demo-id"])
    assert (await bench.shown(), await bench.enabled()) == ("changed", False)


async def test_a_message_of_another_realm_drops_nothing_of_ours(bench: Bench) -> None:
    await bench.shown()
    await bench.enabled()
    reads = bench.database.reads
    await bench.channel.publish(["realm:other-id"])
    await bench.shown()
    await bench.enabled()
    assert bench.database.reads == reads


async def test_a_message_of_one_client_drops_that_one_alone(bench: Bench) -> None:
    async with bench.database.write() as stores:
        await stores.clients.add(client("other"))
    other = await bench.cache.client("demo-id", "other")
    assert (await bench.shown(), await bench.enabled()) == (None, True)
    assert await bench.cache.client("demo-id", "new") is None
    async with bench.database.write() as stores:
        await stores.clients.add(client("new"))
    await bench.rename()
    await bench.disable()
    reads = bench.database.reads
    await bench.channel.publish(["client:demo-id:device-uuid"])
    assert (await bench.shown(), await bench.enabled()) == (None, False)
    assert await bench.cache.client("demo-id", "other") is other
    assert await bench.cache.client("demo-id", "new") is not None
    assert bench.database.reads == reads + 2


async def test_a_client_that_was_renamed_is_dropped_under_its_old_name(bench: Bench) -> None:
    assert await bench.enabled()
    async with bench.database.write() as stores:
        await stores.clients.replace(replace(client("device"), client_id="renamed"))
    await bench.channel.publish(["client:demo-id:device-uuid"])
    assert await bench.cache.client("demo-id", "device") is None
    assert await bench.cache.client("demo-id", "renamed") is not None


async def test_a_client_is_found_by_its_id_under_the_name_it_has_now(bench: Bench) -> None:
    entry = await bench.cache.client("demo-id", "device")
    assert await bench.cache.client_with_id("demo-id", "device-uuid") is entry
    reads = bench.database.reads
    assert await bench.cache.client_with_id("demo-id", "device-uuid") is entry
    assert bench.database.reads == reads
    assert await bench.cache.client_with_id("other-id", "device-uuid") is None
    async with bench.database.write() as stores:
        await stores.clients.replace(client("renamed", id="device-uuid"))
        await stores.clients.add(client("device", id="another-uuid"))
    await bench.channel.publish(["client:demo-id:device-uuid", "client:demo-id:another-uuid"])
    found = [await bench.cache.client_with_id("demo-id", f"{id_}-uuid") for id_ in NAMED]
    assert [one and one.client.client_id for one in found] == ["renamed", "device"]
    async with bench.database.write() as stores:
        await stores.clients.remove_client("demo-id", "device-uuid")
    await bench.channel.publish(["client:demo-id:device-uuid"])
    assert await bench.cache.client_with_id("demo-id", "device-uuid") is None


async def _listed(bench: Bench) -> list[str]:
    return [one.client.client_id for one in await bench.cache.always_listed("demo-id")]


@pytest.mark.parametrize("topic", ["client:demo-id:shown-uuid", "realm:demo-id", None])
async def test_clients_that_are_always_listed_change_with_a_message(
    bench: Bench, topic: str | None
) -> None:
    assert await _listed(bench) == []
    reads = bench.database.reads
    async with bench.database.write() as stores:
        await stores.clients.add(client("shown", document=LISTED))
    assert await _listed(bench) == []
    assert bench.database.reads == reads
    bench.channel.tell(topic)
    assert await _listed(bench) == ["shown"]
    async with bench.database.write() as stores:
        await stores.clients.replace(client("shown"))
    bench.channel.tell(topic)
    assert await _listed(bench) == []


async def test_clients_that_are_always_listed_age_as_clients_do(bench: Bench) -> None:
    assert await _listed(bench) == []
    async with bench.database.write() as stores:
        await stores.clients.add(client("shown", document=LISTED))
    bench.clock.move(timedelta(seconds=59))
    assert await _listed(bench) == []
    bench.clock.move(timedelta(seconds=1))
    assert await _listed(bench) == ["shown"]
    bench.database.away = True
    bench.clock.move(timedelta(seconds=60))
    with pytest.raises(StoreUnavailable):
        await _listed(bench)


async def test_a_list_that_is_outdated_when_it_arrives_is_not_kept(bench: Bench) -> None:
    bench.database.gate.clear()
    asked = asyncio.create_task(_listed(bench))
    await eventually(lambda: bench.database.snapshots == 1)
    async with bench.database.write() as stores:
        await stores.clients.add(client("shown", document=LISTED))
    await bench.channel.publish(["client:demo-id:shown-uuid"])
    bench.database.gate.set()
    assert await asked == []
    assert await _listed(bench) == ["shown"]


async def test_names_of_clients_take_bounded_room(bench: Bench) -> None:
    small = bench.another(CacheLimits(clients=2, name_bytes=2_000))
    async with bench.database.write() as stores:
        for number in range(9):
            long = f"{number}" * 200
            added = client(long, id=f"{number}-uuid", document=LISTED)
            await stores.clients.add(added)
    for number in range(9):
        await small.client_with_id("demo-id", f"{number}-uuid")
        assert small._client_names.bytes <= 2_000
    assert len(small._client_names) == 2
    assert len(await small.always_listed("demo-id")) == 9
    await small.always_listed("other-id")
    assert small._always_listed.bytes <= 2_000


async def test_aged_entries_are_checked_and_kept_if_unchanged(bench: Bench) -> None:
    async with bench.database.write() as stores:
        await stores.users.add(user("alice"))

    async def all_kept() -> list[object]:
        return [
            await bench.cache.realm("demo"),
            await bench.cache.client("demo-id", "device"),
            await bench.cache.user("demo-id", "alice-uuid"),
        ]

    first = await all_kept()
    bench.clock.move(timedelta(seconds=60))
    reads = bench.database.reads
    second = await all_kept()
    assert bench.database.reads == reads + 3
    assert [id(entry) for entry in first] == [id(entry) for entry in second]
    await all_kept()
    assert bench.database.reads == reads + 3


@pytest.mark.parametrize(("connected", "seconds"), [(True, 60), (False, 5)])
async def test_without_a_message_age_makes_a_change_visible(
    bench: Bench, *, connected: bool, seconds: int
) -> None:
    bench.channel.connected = connected
    assert (await bench.shown(), await bench.enabled()) == (None, True)
    await bench.rename()
    await bench.disable()
    bench.clock.move(timedelta(seconds=seconds) - timedelta(microseconds=1))
    assert (await bench.shown(), await bench.enabled()) == (None, True)
    bench.clock.move(timedelta(microseconds=1))
    assert (await bench.shown(), await bench.enabled()) == ("changed", False)


async def test_a_clock_set_back_does_not_keep_an_entry_alive(bench: Bench) -> None:
    await bench.enabled()
    await bench.disable()
    bench.clock.move(timedelta(hours=-1))
    assert not await bench.enabled()


async def test_news_that_may_have_been_missed_is_asked_for(bench: Bench) -> None:
    await bench.shown()
    await bench.enabled()
    await bench.rename()
    await bench.disable()
    bench.channel.tell(None)
    assert (await bench.shown(), await bench.enabled()) == ("changed", False)


async def test_what_is_asked_at_the_same_time_is_loaded_once(bench: Bench) -> None:
    answers = await asyncio.gather(*(bench.cache.client("demo-id", "device") for _ in range(50)))
    assert bench.database.reads == 1
    assert len({id(answer) for answer in answers}) == 1


async def test_a_cancelled_caller_does_not_cancel_the_others(bench: Bench) -> None:
    bench.database.gate.clear()
    first = asyncio.create_task(bench.cache.client("demo-id", "device"))
    second = asyncio.create_task(bench.cache.client("demo-id", "device"))
    await eventually(lambda: bench.database.snapshots == 1)
    first.cancel()
    bench.database.gate.set()
    assert await second is not None
    assert bench.database.reads == 1


@pytest.mark.parametrize(
    ("ask", "change", "before", "after"),
    [(Bench.enabled, Bench.disable, True, False), (Bench.shown, Bench.rename, None, "changed")],
)
async def test_an_answer_older_than_a_message_is_not_kept(
    bench: Bench,
    ask: Callable[[Bench], Awaitable[object]],
    change: Callable[[Bench], Awaitable[None]],
    before: object,
    after: object,
) -> None:
    """The snapshot was taken before the change, and arrives after its message."""
    bench.database.gate.clear()
    early = asyncio.ensure_future(ask(bench))
    await eventually(lambda: bench.database.snapshots == 1)
    await change(bench)
    await bench.channel.publish(["realm:demo-id"])
    late = asyncio.ensure_future(ask(bench))
    bench.database.gate.set()
    assert (await early, await late) == (before, after)
    assert await ask(bench) == after


@pytest.mark.parametrize("ask", [Bench.enabled, Bench.shown])
async def test_an_answer_without_remaining_callers_is_not_cached(
    bench: Bench, ask: Callable[[Bench], Awaitable[object]]
) -> None:
    bench.database.gate.clear()
    early = asyncio.ensure_future(ask(bench))
    await eventually(lambda: bench.database.snapshots == 1)
    await bench.channel.publish(["realm:demo-id"])
    bench.database.gate.set()
    await early
    await ask(bench)
    assert bench.database.reads == 2


async def test_an_unknown_client_is_asked_for_once_in_five_seconds(bench: Bench) -> None:
    for _ in range(3):
        assert await bench.cache.client("demo-id", "nobody") is None
        assert await bench.cache.realm("nowhere") is None
    assert bench.database.reads == 2
    bench.clock.move(timedelta(seconds=5))
    assert await bench.cache.client("demo-id", "nobody") is None
    assert bench.database.reads == 3


async def test_what_was_unknown_is_found_as_soon_as_it_exists(bench: Bench) -> None:
    assert await bench.cache.client("demo-id", "new") is None
    assert await bench.cache.realm("other") is None
    async with bench.database.write() as stores:
        await stores.clients.add(client("new"))
        await stores.realms.add(realm("other"))
    await bench.channel.publish(["realm:demo-id"])
    assert await bench.cache.client("demo-id", "new") is not None
    await bench.channel.publish(["realm:other-id"])
    assert await bench.cache.realm("other") is not None


async def test_unknown_names_evict_nothing_and_are_bounded(
    bench: Bench,
) -> None:
    await bench.shown()
    await bench.enabled()
    for number in range(1_100):
        await bench.cache.client("demo-id", f"nobody-{number}")
        await bench.cache.realm(f"nowhere-{number % 50}")
    assert await bench.cache.client("demo-id", "x" * 10_000) is None
    reads = bench.database.reads
    await bench.shown()
    await bench.enabled()
    assert bench.database.reads == reads
    assert len(bench.cache._unknown) == 1_000
    assert bench.cache._unknown.get(("demo-id", "x" * 10_000)) is None


async def test_the_least_recently_used_makes_room(bench: Bench) -> None:
    small = bench.another(CacheLimits(realms=2, clients=2))
    async with bench.database.write() as stores:
        for name in ("one", "two"):
            await stores.clients.add(client(name))
    for name in ("device", "one", "device", "two"):
        await small.client("demo-id", name)
    reads = bench.database.reads
    await small.client("demo-id", "device")
    await small.client("demo-id", "two")
    assert bench.database.reads == reads
    await small.client("demo-id", "one")
    assert bench.database.reads == reads + 1


async def test_large_entries_make_room_by_their_bytes(bench: Bench) -> None:
    large = {f"text-{number}": "x" * 10_000 for number in range(10)}
    small = bench.another(CacheLimits(client_bytes=300_000))
    async with bench.database.write() as stores:
        for number in range(6):
            await stores.clients.add(replace(client(f"large-{number}"), attributes=large))
    for number in range(6):
        await small.client("demo-id", f"large-{number}")
        assert small._clients.bytes <= 300_000
    assert len(small._clients) == 2
    reads = bench.database.reads
    await small.client("demo-id", "large-5")
    assert bench.database.reads == reads
    await small.client("demo-id", "large-0")
    assert bench.database.reads == reads + 1


async def test_keys_are_parsed_again_only_when_they_changed(bench: Bench) -> None:
    first = await bench.cache.realm("demo")
    await bench.channel.publish(["realm:demo-id"])
    assert await bench.cache.realm("demo") is first
    await bench.rename()
    await bench.channel.publish(["realm:demo-id"])
    renamed = await bench.cache.realm("demo")
    assert renamed is not None
    assert renamed is not first
    assert bench.keys.parsed == 1
    async with bench.database.write() as stores:
        await stores.keys.add(key("kid-2", created_at=NOW + timedelta(1)))
    await bench.channel.publish(["realm:demo-id"])
    rotated = await bench.cache.realm("demo")
    assert rotated is not None
    assert isinstance(rotated.key_ring, NamedRing)
    assert rotated.key_ring.kids == ["kid-2", "kid-1"]


async def test_in_an_outage_a_realm_is_served_for_an_hour(bench: Bench) -> None:
    await bench.shown()
    bench.database.away = True
    bench.channel.tell(None)
    bench.clock.move(timedelta(hours=1) - timedelta(microseconds=1))
    assert await bench.shown() is None
    bench.clock.move(timedelta(microseconds=1))
    with pytest.raises(StoreUnavailable):
        await bench.shown()


async def test_in_an_outage_a_client_is_not_served_beyond_its_age(
    bench: Bench,
) -> None:
    await bench.enabled()
    bench.database.away = True
    bench.clock.move(timedelta(seconds=59))
    assert await bench.enabled()
    bench.clock.move(timedelta(seconds=1))
    with pytest.raises(StoreUnavailable):
        await bench.enabled()


async def test_a_realm_that_is_known_to_have_changed_is_not_served_old(bench: Bench) -> None:
    await bench.shown()
    bench.database.away = True
    await bench.channel.publish(["realm:demo-id"])
    with pytest.raises(StoreUnavailable):
        await bench.shown()


async def test_a_realm_that_changed_is_not_served_old_after_a_failure(
    bench: Bench,
) -> None:
    await bench.shown()
    bench.clock.move(timedelta(seconds=60))
    bench.database.gate.clear()
    asking = asyncio.ensure_future(bench.shown())
    await eventually(lambda: bench.database.snapshots == 2)
    await bench.channel.publish(["realm:demo-id"])
    bench.database.away = True
    bench.database.gate.set()
    with pytest.raises(StoreUnavailable):
        await asking


async def test_in_an_outage_the_database_is_tried_once_a_second(
    bench: Bench,
) -> None:
    await bench.shown()
    await bench.rename()
    bench.database.away = True
    bench.clock.move(timedelta(seconds=60))
    reads = bench.database.reads
    for _ in range(10):
        assert await bench.shown() is None
    assert bench.database.reads == reads + 1
    bench.database.away = False
    bench.clock.move(timedelta(seconds=1))
    assert await bench.shown() == "changed"


async def test_a_hanging_database_does_not_delay_known_realms(
    bench: Bench,
) -> None:
    impatient = bench.another(CacheLimits(outage_wait=timedelta(milliseconds=1)))
    first = await impatient.realm("demo")
    bench.database.gate.clear()
    bench.clock.move(timedelta(seconds=60))
    assert await impatient.realm("demo") is first
    bench.database.gate.set()


async def test_a_failure_is_not_remembered(bench: Bench) -> None:
    bench.database.away = True
    with pytest.raises(StoreUnavailable):
        await bench.enabled()
    bench.database.away = False
    assert await bench.enabled()


async def test_a_secret_changed_elsewhere_takes_effect(bench: Bench) -> None:
    await bench.enabled()
    async with bench.database.write() as stores:
        await stores.clients.replace(replace(client("device"), secret=Secret("rotated")))
    await bench.channel.publish(["realm:demo-id"])
    entry = await bench.cache.client("demo-id", "device")
    assert entry is not None
    assert entry.client.secret == Secret("rotated")
