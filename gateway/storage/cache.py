"""Realms, clients and users in memory, in front of the database: the Directory port.

A hit costs microseconds. Entries are dropped by message and by age: a minute while messages arrive,
seconds while they do not. `realm:<id>` drops the realm with all its clients and users,
`client:<realm id>:<id>` and `user:<realm id>:<id>` drop one. An aged entry is queried again, and
parsed again only if its row has changed. Unknown names are cached separately and briefly, so that
a flood of invented names evicts nothing. Entries and bytes are bounded: administrators and users
decide how large a value is.

While the database is unavailable a realm is served for up to an hour, so that keys, discovery and
signature checks work; a client is not, since it may have been disabled, and neither is a realm
that is known to have changed.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Generic, TypeVar

from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits.caches import SingleFlight, size_of
from gateway.domain.ports.invalidation import CLIENT_TOPIC, REALM_TOPIC, USER_TOPIC, Invalidation
from gateway.domain.ports.lookups import (
    ClientEntry,
    Found,
    Lookups,
    RealmEntry,
    StoredRealm,
    UserEntry,
)
from gateway.domain.ports.signing import KeyFactory

UNCONNECTED_AGE: Final = timedelta(seconds=5)
"""While no messages of other gateways arrive."""


def cache_age(
    invalidation: Invalidation, age: timedelta, unconnected: timedelta = UNCONNECTED_AGE
) -> timedelta:
    """Return `age` while messages of other gateways arrive, else `unconnected` at most."""
    return age if invalidation.connected else min(age, unconnected)


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class GroupedLru(Generic[K, V]):
    """At most `limit` values and `most_bytes`, one at least; groups of values can be dropped."""

    def __init__(self, limit: int, most_bytes: int) -> None:
        self._limit = limit
        self._most_bytes = most_bytes
        self.bytes = 0
        """The size of all values, as they were put."""
        self._values: OrderedDict[K, tuple[tuple[str, ...], V, int]] = OrderedDict()
        self._groups: defaultdict[str, set[K]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value and count it as used."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[1]

    def put(self, key: K, groups: tuple[str, ...], value: V, size: int) -> None:
        """Store the value of `size` bytes; drop the least recently used ones when full."""
        self.drop(key)
        self._values[key] = (groups, value, size)
        self.bytes += size
        for group in groups:
            self._groups[group].add(key)
        while len(self._values) > self._limit or self._is_too_large():
            self.drop(next(iter(self._values)))

    def _is_too_large(self) -> bool:
        return self.bytes > self._most_bytes and len(self._values) > 1

    def drop(self, key: K) -> None:
        found = self._values.pop(key, None)
        self.bytes -= 0 if found is None else found[2]
        for group in () if found is None else found[0]:
            keys = self._groups[group]
            keys.discard(key)
            if not keys:
                del self._groups[group]

    def drop_group(self, group: str) -> None:
        for key in tuple(self._groups.get(group, ())):
            self.drop(key)

    def clear(self) -> None:
        self.bytes = 0
        self._values.clear()
        self._groups.clear()


_OUTAGE_PAUSE = timedelta(seconds=1)
"""How long a realm is served from memory without a query after the database failed."""

_REALM_NAMES = ""
"""The group of unknown realm names: a message about a realm may concern any of them."""
_LONGEST_NAME = 255
"""Longer names do not exist and are not cached."""
_MEBIBYTE = 1024 * 1024
_UNKNOWN_BYTES = 1024
"""Upper bound of the size of an unknown name with its instant and group."""

_Key = tuple[str, str]
"""Realm id, and client_id or user id."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """Size of the cache and age of its entries."""

    realms: int = 1_000
    clients: int = 10_000
    users: int = 10_000
    unknown: int = 1_000
    """Names of realms and clients that do not exist."""
    realm_bytes: int = 128 * _MEBIBYTE
    client_bytes: int = 64 * _MEBIBYTE
    user_bytes: int = 64 * _MEBIBYTE
    name_bytes: int = 8 * _MEBIBYTE
    """Of the names of clients by internal id, and again of those that are always listed."""
    age: timedelta = timedelta(seconds=60)
    """While messages of other gateways arrive."""
    unconnected_age: timedelta = UNCONNECTED_AGE
    """While they do not; also for unknown names."""
    outage_age: timedelta = timedelta(hours=1)
    """For realms, while the database is unavailable."""
    outage_wait: timedelta = timedelta(milliseconds=500)
    """How long a request waits for the database when an older realm is in memory."""


@dataclass(frozen=True, slots=True)
class _Cached(Generic[T]):
    entry: T
    loaded_at: datetime
    connection: int
    """The connection to the messages when it was loaded: a later one may have missed some."""
    size: int = 0
    """In bytes."""


@dataclass(frozen=True, slots=True)
class _Realm:
    found: Found[StoredRealm]
    entry: RealmEntry
    size: int
    """In bytes."""


class RealmCache:
    """Directory over a database; `limits` bound its memory and its age."""

    def __init__(
        self,
        lookups: Lookups,
        key_factory: KeyFactory,
        clock: Clock,
        invalidation: Invalidation,
        limits: CacheLimits | None = None,
    ) -> None:
        self._lookups = lookups
        self._key_factory = key_factory
        self._clock = clock
        self._invalidation = invalidation
        self._limits = limits or CacheLimits()
        realms = (self._limits.realms, self._limits.realm_bytes)
        clients = (self._limits.clients, self._limits.client_bytes)
        users = (self._limits.users, self._limits.user_bytes)
        unknown = (self._limits.unknown, self._limits.unknown * _UNKNOWN_BYTES)
        names = self._limits.name_bytes
        self._realms: GroupedLru[str, _Cached[RealmEntry]] = GroupedLru(*realms)
        self._parsed: GroupedLru[str, _Realm] = GroupedLru(*realms)
        self._clients: GroupedLru[_Key, _Cached[Found[ClientEntry]]] = GroupedLru(*clients)
        self._client_names: GroupedLru[_Key, str] = GroupedLru(self._limits.clients, names)
        """By internal id. A name may be another client's by now: who reads it compares the id."""
        self._always_listed: GroupedLru[str, _Cached[tuple[str, ...]]] = GroupedLru(
            self._limits.realms, names
        )
        """Names of clients by realm id."""
        self._users: GroupedLru[_Key, _Cached[Found[UserEntry]]] = GroupedLru(*users)
        self._unknown: GroupedLru[str | _Key, datetime] = GroupedLru(*unknown)
        self._realm_loads: SingleFlight[str, RealmEntry | None] = SingleFlight()
        self._client_loads: SingleFlight[_Key, ClientEntry | None] = SingleFlight()
        self._user_loads: SingleFlight[_Key, UserEntry | None] = SingleFlight()
        self._listed_loads: SingleFlight[str, tuple[str, ...]] = SingleFlight()
        self._version = 0
        self._connection = 0
        self._outage_at: datetime | None = None
        invalidation.subscribe(self._forget_topic)

    async def realm(self, name: str) -> RealmEntry | None:
        now = self._clock.now()
        cached = self._realms.get(name)
        if cached is not None and self._is_fresh(cached, now):
            return cached.entry
        if self._is_unknown(name, now):
            return None
        outage_age = self._limits.outage_age
        if cached is not None and cached.loaded_at <= now < cached.loaded_at + outage_age:
            return await self._renewed(name, cached, now)
        return await self._realm_loads.run(name, lambda: self._load_realm(name, now))

    async def client(self, realm_id: str, client_id: str) -> ClientEntry | None:
        now = self._clock.now()
        key = (realm_id, client_id)
        cached = self._clients.get(key)
        if cached is not None and self._is_fresh(cached, now):
            return cached.entry.value
        if self._is_unknown(key, now):
            return None
        return await self._client_loads.run(key, lambda: self._load_client(key, now))

    async def client_with_id(self, realm_id: str, client: str) -> ClientEntry | None:
        key = (realm_id, client)
        name = self._client_names.get(key)
        found = None if name is None else await self.client(realm_id, name)
        if found is not None and found.client.id == client:
            return found
        name = await self._lookups.client_name(realm_id, client)
        if name is None:
            self._client_names.drop(key)
            return None
        self._client_names.put(key, (realm_id,), name, size_of(key) + size_of(name))
        found = await self.client(realm_id, name)
        return found if found is not None and found.client.id == client else None

    async def always_listed(self, realm_id: str) -> tuple[ClientEntry, ...]:
        now = self._clock.now()
        cached = self._always_listed.get(realm_id)
        if cached is not None and self._is_fresh(cached, now):
            names = cached.entry
        else:
            load = partial(self._load_always_listed, realm_id, now)
            names = await self._listed_loads.run(realm_id, load)
        found = [await self.client(realm_id, name) for name in names]
        return tuple(one for one in found if one is not None and one.client.display.always_listed)

    async def user(self, realm_id: str, user_id: str) -> UserEntry | None:
        now = self._clock.now()
        key = (realm_id, user_id)
        cached = self._users.get(key)
        if cached is not None and self._is_fresh(cached, now):
            return cached.entry.value
        return await self._user_loads.run(key, lambda: self._load_user(key, now))

    def _is_fresh(self, cached: _Cached[Any], now: datetime) -> bool:
        """Tell whether it is young enough to be used; a clock set back makes it old."""
        limits, loaded_at = self._limits, cached.loaded_at
        age = cache_age(self._invalidation, limits.age, limits.unconnected_age)
        return cached.connection == self._connection and loaded_at <= now < loaded_at + age

    def _is_unknown(self, key: str | _Key, now: datetime) -> bool:
        since = self._unknown.get(key)
        return since is not None and since <= now < since + self._limits.unconnected_age

    async def _renewed(
        self, name: str, cached: _Cached[RealmEntry], now: datetime
    ) -> RealmEntry | None:
        """Load the realm again; return the old one where the database is unavailable or slow."""
        outage = self._outage_at
        if outage is not None and outage <= now < outage + _OUTAGE_PAUSE:
            return cached.entry
        load = self._realm_loads.start(name, lambda: self._load_realm(name, now))
        done, _ = await asyncio.wait({load}, timeout=self._limits.outage_wait.total_seconds())
        if done and not isinstance(load.exception(), StoreUnavailable):
            return load.result()
        self._outage_at = now
        if self._realms.get(name) is not cached:  # it was invalidated meanwhile
            raise StoreUnavailable("sql")
        return cached.entry

    async def _load_realm(self, name: str, now: datetime) -> RealmEntry | None:
        version, connection = self._version, self._connection
        before = self._parsed.get(name)
        found = await self._lookups.realm(name, None if before is None else before.found)
        self._outage_at = None
        if found is None:
            self._realms.drop(name)
            self._remember_unknown(name, _REALM_NAMES, now, version)
            return None
        parsed = self._parse_realm(name, before, found)
        if version == self._version:
            groups = (found.value.realm.id,)
            cached = _Cached(parsed.entry, now, connection)
            self._realms.put(name, groups, cached, parsed.size)
        return parsed.entry

    def _parse_realm(self, name: str, before: _Realm | None, found: Found[StoredRealm]) -> _Realm:
        """Parse keys only when they changed: it takes as long as signing many tokens."""
        stored = found.value
        if before is not None and before.found is found:
            return before
        if before is not None and before.found.value.keys == stored.keys:
            ring = before.entry.key_ring
        else:
            ring = self._key_factory.ring(stored.keys)
        entry = RealmEntry(
            stored.realm, ring, stored.client_scopes, stored.sign_in, stored.user_profile
        )
        parsed = _Realm(found, entry, size_of(stored))
        self._parsed.put(name, (), parsed, parsed.size)
        return parsed

    async def _load_client(self, key: _Key, now: datetime) -> ClientEntry | None:
        realm_id, version = key[0], self._version
        entry = await self._load_lookup(
            self._lookups.client,
            self._clients,
            key,
            now,
            lambda found: (realm_id, _client_group(realm_id, found.client.id)),
        )
        if entry is None:
            self._remember_unknown(key, realm_id, now, version)
        return entry

    async def _load_always_listed(self, realm_id: str, now: datetime) -> tuple[str, ...]:
        version, connection = self._version, self._connection
        names = await self._lookups.always_listed(realm_id)
        if version == self._version:
            cached = _Cached(names, now, connection)
            self._always_listed.put(realm_id, (realm_id,), cached, size_of(names))
        return names

    async def _load_user(self, key: _Key, now: datetime) -> UserEntry | None:
        return await self._load_lookup(self._lookups.user, self._users, key, now, lambda _: key[:1])

    async def _load_lookup(
        self,
        look_up: Callable[[str, str, Found[T] | None], Awaitable[Found[T] | None]],
        cached: GroupedLru[_Key, _Cached[Found[T]]],
        key: _Key,
        now: datetime,
        groups: Callable[[T], tuple[str, ...]],
    ) -> T | None:
        version, connection = self._version, self._connection
        before = cached.get(key)
        found = await look_up(*key, None if before is None else before.entry)
        if found is None:
            cached.drop(key)
            return None
        if version == self._version:
            size = _size(before, found)
            entry = _Cached(found, now, connection, size)
            cached.put(key, groups(found.value), entry, size)
        return found.value

    def _remember_unknown(self, key: str | _Key, group: str, now: datetime, version: int) -> None:
        name = key if isinstance(key, str) else key[1]
        if version == self._version and len(name) <= _LONGEST_NAME:
            self._unknown.put(key, (group,), now, _UNKNOWN_BYTES)

    def _forget_topic(self, topic: str | None) -> None:
        self._version += 1
        self._realm_loads.clear()
        self._client_loads.clear()
        self._user_loads.clear()
        self._listed_loads.clear()
        if topic is None:
            # Entries of an earlier connection are loaded again before they are used.
            self._connection += 1
            self._unknown.clear()
        elif topic.startswith(USER_TOPIC):
            self._users.drop(_key(topic))
        elif topic.startswith(CLIENT_TOPIC):
            realm_id, client = _key(topic)
            self._clients.drop_group(_client_group(realm_id, client))
            self._always_listed.drop(realm_id)
            self._unknown.drop_group(realm_id)
        elif topic.startswith(REALM_TOPIC):
            realm_id = topic.removeprefix(REALM_TOPIC)
            self._always_listed.drop(realm_id)
            for cache in (self._realms, self._clients, self._client_names, self._users):
                cache.drop_group(realm_id)
            self._unknown.drop_group(realm_id)
            self._unknown.drop_group(_REALM_NAMES)


def _size(before: _Cached[T] | None, found: T) -> int:
    """Return the size in bytes, measured again only where the value has changed."""
    return before.size if before is not None and before.entry is found else size_of(found)


def _key(topic: str) -> _Key:
    """Return the ids of the realm and of the client or user in the topic."""
    realm_id, _, identity = topic.partition(":")[2].rpartition(":")
    return realm_id, identity


def _client_group(realm_id: str, client: str) -> str:
    return f"{realm_id}:{client}"
