"""Which clients of a realm may own a certificate, in memory for realms with few such clients.

The names of their certificates are read together, at most `MOST_TERMS` of a realm: certificates of
thousands of devices find the client of their template without a query. They are dropped as a client
in memory is: by message when any client of the realm changes, and by age. In a realm with more of
them each look-up is a query.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.clock import Clock
from gateway.domain.limits.caches import SingleFlight, size_of
from gateway.domain.ports.invalidation import CLIENT_TOPIC, REALM_TOPIC, Invalidation
from gateway.domain.ports.storage import Database
from gateway.storage.cache import GroupedLru, cache_age

MOST_TERMS: Final = 2_000
_MOST_REALMS: Final = 1_000
_MOST_BYTES: Final = 16 * 1024 * 1024
_Terms = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Loaded:
    terms: _Terms | None
    """The public names of clients by term; None where the realm has too many."""
    loaded_at: datetime
    connection: int
    """The connection to the messages when it was loaded: a later one may have missed some."""


class CachedCertificateOwners:
    """CertificateOwnerIndex over the database; belongs to one event loop."""

    def __init__(
        self, database: Database, clock: Clock, invalidation: Invalidation, *, age: timedelta
    ) -> None:
        """Take `age`, that of clients in memory."""
        self._database = database
        self._clock = clock
        self._invalidation = invalidation
        self._age = age
        self._realms: GroupedLru[str, _Loaded] = GroupedLru(_MOST_REALMS, _MOST_BYTES)
        self._loading: SingleFlight[str, _Loaded] = SingleFlight()
        self._version = 0
        """The number of messages so far: what was read before a message is not kept."""
        self._connection = 0
        invalidation.subscribe(self._forget_topic)

    async def with_terms(self, realm_id: str, terms: Collection[str], most: int) -> tuple[str, ...]:
        now = self._clock.now()
        loaded = self._realms.get(realm_id)
        if loaded is None or not self._is_fresh(loaded, now):
            loaded = await self._loading.run(realm_id, lambda: self._load_owners(realm_id, now))
        if loaded.terms is None:
            async with self._database.read() as stores:
                return await stores.clients.with_certificate_terms(realm_id, terms, most)
        found = {name for term in terms for name in loaded.terms.get(term, ())}
        return tuple(sorted(found)[:most])

    async def without_registered(self, realm_id: str, client_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the owners without registered ones; a query, only for ambiguous certificates."""
        if len(client_ids) > 1:
            async with self._database.read() as stores:
                registered = await stores.clients.with_registration_token(realm_id, client_ids)
            if others := [each for each in client_ids if each not in registered]:
                return tuple(others)
        return tuple(client_ids)

    def _is_fresh(self, loaded: _Loaded, now: datetime) -> bool:
        age = cache_age(self._invalidation, self._age)
        is_young = loaded.loaded_at <= now < loaded.loaded_at + age
        return is_young and loaded.connection == self._connection

    async def _load_owners(self, realm_id: str, now: datetime) -> _Loaded:
        version, connection = self._version, self._connection
        async with self._database.read() as stores:
            rows = await stores.clients.certificate_terms(realm_id, MOST_TERMS + 1)
        by_term: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
        for term, name in rows:
            by_term[term] = (*by_term[term], name)
        terms = None if len(rows) > MOST_TERMS else dict(by_term)
        loaded = _Loaded(terms, now, connection)
        if version == self._version:
            self._realms.put(realm_id, (), loaded, size_of((realm_id, terms)))
        return loaded

    def _forget_topic(self, topic: str | None) -> None:
        self._version += 1
        self._loading.clear()
        if topic is None:
            # What was loaded before is loaded again before it is used.
            self._connection += 1
        elif topic.startswith(CLIENT_TOPIC):
            self._realms.drop(topic.removeprefix(CLIENT_TOPIC).rpartition(":")[0])
        elif topic.startswith(REALM_TOPIC):
            self._realms.drop(topic.removeprefix(REALM_TOPIC))
