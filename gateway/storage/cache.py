"""Realms, clients and users in memory, in front of the database: the Directory port.

A hit costs microseconds and asks nobody. Entries go by message and by age: a minute while messages
reach us, seconds while they do not. `realm:<id>` drops the realm with all its clients and users,
`client:<realm id>:<id>` and `user:<realm id>:<id>` drop one. What has aged is asked for again, and
read again only where its rows have changed. What is unknown is remembered apart and briefly, so
that a flood of invented names pushes out nothing.
While the database is away a realm is served for up to an hour, so that keys, discovery and
signature checks go on; a client never is, for it may have been disabled. A realm that is known to
have changed is not served old either.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits.caches import size_of
from gateway.domain.ports.directory import ClientEntry, RealmEntry, UserEntry
from gateway.domain.ports.invalidation import CLIENT_TOPIC, REALM_TOPIC, USER_TOPIC, Invalidation
from gateway.domain.ports.lookups import Found, Lookups, StoredRealm
from gateway.domain.ports.signing import KeyFactory
from gateway.storage.lru import GroupedLru
from gateway.storage.single_flight import SingleFlight

_OUTAGE_PAUSE = timedelta(seconds=1)
"""How long a realm is answered from memory without another try, after the database failed."""

_REALM_NAMES = ""
"""The group of unknown realm names: any of them may be the realm that a message tells of."""
_LONGEST_NAME = 255
"""Longer names exist nowhere, and are not worth remembering."""
_MEBIBYTE = 1024 * 1024
_UNKNOWN_BYTES = 1024
"""Of a name that does not exist, with the instant and the group: at least what it takes."""

ClientKey = tuple[str, str]
UserKey = tuple[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """How much is kept, and how old it may grow."""

    realms: int = 1_000
    clients: int = 10_000
    users: int = 10_000
    unknown: int = 1_000
    """Names of realms, and ids of clients, that are known not to exist."""
    realm_bytes: int = 128 * _MEBIBYTE
    client_bytes: int = 64 * _MEBIBYTE
    user_bytes: int = 64 * _MEBIBYTE
    age: timedelta = timedelta(seconds=60)
    """While messages of other gateways reach us."""
    unconnected_age: timedelta = timedelta(seconds=5)
    """While they do not; also how long something stays unknown."""
    outage_age: timedelta = timedelta(hours=1)
    """For realms, while the database is away."""
    patience: timedelta = timedelta(milliseconds=500)
    """How long a request waits for the database when an older realm is at hand."""


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    entry: T
    loaded_at: datetime
    connection: int
    """Which connection of the invalidation it was loaded under: a new one may have missed news."""
    size: int = 0
    """In bytes."""

    def is_younger(self, age: timedelta, now: datetime) -> bool:
        """Return whether it was loaded less than `age` ago; a clock set back makes it old."""
        return self.loaded_at <= now < self.loaded_at + age


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
        self._realms: GroupedLru[str, _Kept[RealmEntry]] = GroupedLru(*realms)
        self._parsed: GroupedLru[str, _Realm] = GroupedLru(*realms)
        self._clients: GroupedLru[ClientKey, _Kept[Found[ClientEntry]]] = GroupedLru(*clients)
        self._users: GroupedLru[UserKey, _Kept[Found[UserEntry]]] = GroupedLru(*users)
        self._unknown: GroupedLru[str | ClientKey, datetime] = GroupedLru(*unknown)
        self._realm_loads: SingleFlight[str, RealmEntry | None] = SingleFlight()
        self._client_loads: SingleFlight[ClientKey, ClientEntry | None] = SingleFlight()
        self._user_loads: SingleFlight[UserKey, UserEntry | None] = SingleFlight()
        self._news = 0
        self._connection = 0
        self._outage_at: datetime | None = None
        invalidation.subscribe(self._hear)

    async def realm(self, name: str) -> RealmEntry | None:
        now = self._clock.now()
        kept = self._realms.get(name)
        if kept is not None and self._is_fresh(kept, now):
            return kept.entry
        if self._is_unknown(name, now):
            return None
        if kept is not None and kept.is_younger(self._limits.outage_age, now):
            return await self._renewed(name, kept, now)
        return await self._realm_loads.run(name, lambda: self._load_realm(name, now))

    async def client(self, realm_id: str, client_id: str) -> ClientEntry | None:
        now = self._clock.now()
        key = (realm_id, client_id)
        kept = self._clients.get(key)
        if kept is not None and self._is_fresh(kept, now):
            return kept.entry.value
        if self._is_unknown(key, now):
            return None
        return await self._client_loads.run(key, lambda: self._load_client(key, now))

    async def user(self, realm_id: str, user_id: str) -> UserEntry | None:
        now = self._clock.now()
        key = (realm_id, user_id)
        kept = self._users.get(key)
        if kept is not None and self._is_fresh(kept, now):
            return kept.entry.value
        return await self._user_loads.run(key, lambda: self._load_user(key, now))

    def _is_fresh(self, kept: _Kept[Any], now: datetime) -> bool:
        limits = self._limits
        connected = self._invalidation.connected
        age = limits.age if connected else min(limits.age, limits.unconnected_age)
        return kept.connection == self._connection and kept.is_younger(age, now)

    def _is_unknown(self, key: str | ClientKey, now: datetime) -> bool:
        since = self._unknown.get(key)
        return since is not None and since <= now < since + self._limits.unconnected_age

    async def _renewed(
        self, name: str, kept: _Kept[RealmEntry], now: datetime
    ) -> RealmEntry | None:
        """Return the realm anew, or as it was where the database is away or takes long."""
        outage = self._outage_at
        if outage is not None and outage <= now < outage + _OUTAGE_PAUSE:
            return kept.entry
        load = self._realm_loads.start(name, lambda: self._load_realm(name, now))
        done, _ = await asyncio.wait({load}, timeout=self._limits.patience.total_seconds())
        if done and not isinstance(load.exception(), StoreUnavailable):
            return load.result()
        self._outage_at = now
        if self._realms.get(name) is not kept:  # a message said that it changed
            raise StoreUnavailable("sql")
        return kept.entry

    async def _load_realm(self, name: str, now: datetime) -> RealmEntry | None:
        news, connection = self._news, self._connection
        before = self._parsed.get(name)
        found = await self._lookups.realm(name, None if before is None else before.found)
        self._outage_at = None
        if found is None:
            self._realms.drop(name)
            self._remember_unknown(name, _REALM_NAMES, now, news)
            return None
        parsed = self._parse(name, before, found)
        if news == self._news:
            groups = (found.value.realm.id,)
            kept = _Kept(parsed.entry, now, connection)
            self._realms.put(name, groups, kept, parsed.size)
        return parsed.entry

    def _parse(self, name: str, before: _Realm | None, found: Found[StoredRealm]) -> _Realm:
        """Parse keys only when they changed: it takes as long as many tokens."""
        stored = found.value
        if before is not None and before.found is found:
            return before
        if before is not None and before.found.value.keys == stored.keys:
            ring = before.entry.key_ring
        else:
            ring = self._key_factory.ring(stored.keys)
        entry = RealmEntry(stored.realm, ring, stored.client_scopes, stored.sign_in)
        parsed = _Realm(found, entry, size_of(stored))
        self._parsed.put(name, (), parsed, parsed.size)
        return parsed

    async def _load_client(self, key: ClientKey, now: datetime) -> ClientEntry | None:
        news, connection = self._news, self._connection
        realm_id, client_id = key
        kept = self._clients.get(key)
        before = None if kept is None else kept.entry
        found = await self._lookups.client(realm_id, client_id, before)
        if found is None:
            self._clients.drop(key)
            self._remember_unknown(key, realm_id, now, news)
            return None
        if news == self._news:
            groups = (realm_id, _one(realm_id, found.value.client.id))
            entry = _Kept(found, now, connection, _size(kept, found))
            self._clients.put(key, groups, entry, entry.size)
        return found.value

    async def _load_user(self, key: UserKey, now: datetime) -> UserEntry | None:
        news, connection = self._news, self._connection
        realm_id, user_id = key
        kept = self._users.get(key)
        before = None if kept is None else kept.entry
        found = await self._lookups.user(realm_id, user_id, before)
        if found is None:
            self._users.drop(key)
            return None
        if news == self._news:
            entry = _Kept(found, now, connection, _size(kept, found))
            self._users.put(key, (realm_id,), entry, entry.size)
        return found.value

    def _remember_unknown(self, key: str | ClientKey, group: str, now: datetime, news: int) -> None:
        name = key if isinstance(key, str) else key[1]
        if news == self._news and len(name) <= _LONGEST_NAME:
            self._unknown.put(key, (group,), now, _UNKNOWN_BYTES)

    def _hear(self, topic: str | None) -> None:
        self._news += 1
        self._realm_loads.forget()
        self._client_loads.forget()
        self._user_loads.forget()
        if topic is None:
            # What is kept is of an earlier connection now: it is asked for before it is used.
            self._connection += 1
            self._unknown.clear()
        elif topic.startswith(USER_TOPIC):
            self._users.drop(_parts(topic))
        elif topic.startswith(CLIENT_TOPIC):
            realm_id, client = _parts(topic)
            self._clients.drop_group(_one(realm_id, client))
            self._unknown.drop_group(realm_id)
        elif topic.startswith(REALM_TOPIC):
            self._hear_of_realm(topic.removeprefix(REALM_TOPIC))

    def _hear_of_realm(self, realm_id: str) -> None:
        self._realms.drop_group(realm_id)
        self._clients.drop_group(realm_id)
        self._users.drop_group(realm_id)
        self._unknown.drop_group(realm_id)
        self._unknown.drop_group(_REALM_NAMES)


def _size(before: _Kept[T] | None, found: T) -> int:
    """Return the bytes that what was found takes; counted once where it has not changed."""
    return before.size if before is not None and before.entry is found else size_of(found)


def _parts(topic: str) -> tuple[str, str]:
    """Return the ids of the realm and of what it is in it that the topic tells of."""
    realm_id, _, identity = topic.partition(":")[2].rpartition(":")
    return realm_id, identity


def _one(realm_id: str, client: str) -> str:
    """Return the group of one client."""
    return f"{realm_id}:{client}"
