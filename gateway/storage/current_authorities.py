"""The registered certificate authorities of realms, as they are committed now.

A change of a realm drops its authorities by message, or by the change log, which is read at most
`CHANGES_AGE` before an answer: an authority that was removed counts for no longer, on any gateway.
While the database is unavailable, authorities that were read before are used for up to an hour,
unless the realm is known to have changed.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.certificates import RegisteredAuthorities
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits.caches import SingleFlight, size_of
from gateway.domain.ports.invalidation import REALM_TOPIC, Invalidation
from gateway.domain.ports.storage import Database
from gateway.storage.cache import GroupedLru, cache_age

CHANGES_AGE: Final = timedelta(milliseconds=500)
_OUTAGE_AGE: Final = timedelta(hours=1)
_OUTAGE_PAUSE: Final = timedelta(seconds=1)
"""How long loaded authorities are used without a query after the database failed."""
_MOST_REALMS: Final = 1_000
_MOST_BYTES: Final = 32 * 1024 * 1024
_NONE: Final = RegisteredAuthorities()


@dataclass(frozen=True, slots=True)
class _Loaded:
    registered: RegisteredAuthorities
    loaded_at: datetime
    connection: int
    """The connection to the messages when it was loaded: a later one may have missed some."""
    size: int
    """In bytes."""
    changed: bool = False
    """The realm has changed since, and maybe its authorities."""


class CurrentAuthorities:
    """AuthorityStore over the database; belongs to one event loop. `age` is that of realms."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        invalidation: Invalidation,
        *,
        read_changes: Callable[[], Awaitable[None]],
        age: timedelta,
    ) -> None:
        """Take `read_changes`, which delivers changes whose messages were lost."""
        self._database = database
        self._clock = clock
        self._invalidation = invalidation
        self._read_changes = read_changes
        self._age = age
        self._realms: GroupedLru[str, _Loaded] = GroupedLru(_MOST_REALMS, _MOST_BYTES)
        self._loading: SingleFlight[str, RegisteredAuthorities] = SingleFlight()
        self._version = 0
        """The number of messages so far."""
        self._connection = 0
        self._current_at: datetime | None = None
        """When the change log was read last."""
        self._outage_at: datetime | None = None
        invalidation.subscribe(self._forget_topic)

    async def registered(self, realm_id: str) -> RegisteredAuthorities:
        now, current_at = self._clock.now(), self._current_at
        if current_at is None or not current_at <= now < current_at + CHANGES_AGE:
            self._current_at = now
            # Without the database `_usable` decides whether what is loaded may be used.
            with suppress(StoreUnavailable):
                await self._read_changes()
        loaded = self._realms.get(realm_id)
        if loaded is not None and self._is_usable(loaded, now):
            return loaded.registered
        try:
            return await self._loading.run(realm_id, lambda: self._load_authorities(realm_id, now))
        except StoreUnavailable:
            self._outage_at = now
            loaded = self._realms.get(realm_id)
            if loaded is None or not _survives_outage(loaded, now):
                raise
            return loaded.registered

    def _is_usable(self, loaded: _Loaded, now: datetime) -> bool:
        if loaded.changed:
            return False
        age = cache_age(self._invalidation, self._age)
        begin = loaded.loaded_at
        if loaded.connection == self._connection and begin <= now < begin + age:
            return True
        outage = self._outage_at
        is_paused = outage is not None and outage <= now < outage + _OUTAGE_PAUSE
        return is_paused and _survives_outage(loaded, now)

    async def _load_authorities(self, realm_id: str, now: datetime) -> RegisteredAuthorities:
        version, connection = self._version, self._connection
        async with self._database.read() as stores:
            found = await stores.authorities.list_values(realm_id)
        self._outage_at = None
        before = self._realms.get(realm_id)
        # The same object as long as nothing has changed: what was prepared from it stays valid.
        if before is not None and before.registered.authorities == found:
            registered = before.registered
        else:
            registered = RegisteredAuthorities.of(found) if found else _NONE
        # What changed meanwhile may not be in what was read.
        if version == self._version:
            self._keep_authorities(
                realm_id, _Loaded(registered, now, connection, size_of(registered))
            )
        return registered

    def _keep_authorities(self, realm_id: str, loaded: _Loaded) -> None:
        self._realms.put(realm_id, (), loaded, loaded.size)

    def _forget_topic(self, topic: str | None) -> None:
        self._version += 1
        self._loading.clear()
        if topic is None:
            # Entries of an earlier connection are loaded again before they are used.
            self._connection += 1
        elif topic.startswith(REALM_TOPIC):
            realm_id = topic.removeprefix(REALM_TOPIC)
            loaded = self._realms.get(realm_id)
            if loaded is not None:
                self._keep_authorities(realm_id, replace(loaded, changed=True))


def _is_younger(loaded: _Loaded, age: timedelta, now: datetime) -> bool:
    return loaded.loaded_at <= now < loaded.loaded_at + age


def _survives_outage(loaded: _Loaded, now: datetime) -> bool:
    return not loaded.changed and _is_younger(loaded, _OUTAGE_AGE, now)
