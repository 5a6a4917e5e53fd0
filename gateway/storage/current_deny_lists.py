"""The deny lists of realms as they are committed now, in the memory of a worker.

A change drops a list by message, or by the change log, which is read at most `CHANGES_AGE` before
an answer: an entry counts on every gateway within one second even where no message arrives. What
cannot be known, because the database does not answer, raises StoreUnavailable.
"""

from datetime import datetime, timedelta
from typing import Final

from gateway.certificates import DenyList
from gateway.domain.certificates import CertificationPath
from gateway.domain.clock import Clock
from gateway.domain.limits.caches import SingleFlight, SizedCache
from gateway.domain.ports.invalidation import DENY_LIST_TOPIC, REALM_TOPIC, Invalidation
from gateway.domain.ports.lookups import CurrentRevocations
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER, Realm

CHANGES_AGE: Final = timedelta(milliseconds=400)
_MOST_BYTES: Final = 256 * 1024 * 1024
"""At most: a realm without entries takes 600 bytes, one with 10,000 entries 4 MB."""
_MOST_WITHOUT_ENTRIES: Final = 10_000


class CurrentDenyLists:
    """Revocations and DeniedCertificates by deny lists; belongs to one event loop."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        invalidation: Invalidation,
        changes: CurrentRevocations,
    ) -> None:
        """Take `changes`, which delivers changes whose messages were lost."""
        self._database = database
        self._clock = clock
        self._changes = changes
        self._lists: SizedCache[str, DenyList] = SizedCache(_MOST_BYTES, _weigh)
        """By the realm's id."""
        self._without_entries: set[str] = set()
        """Ids of realms in which no entry counts, neither their own nor one of master."""
        self._master_id: str | None = None
        self._version = 0
        """The number of messages so far: what was read before a message is not kept."""
        self._current_at: datetime | None = None
        self._reading: SingleFlight[str, None] = SingleFlight()
        self._loading: SingleFlight[str, DenyList] = SingleFlight()
        invalidation.subscribe(self._forget_topic)

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        for name, entries in await self._of(realm):
            for certificate in path.certificates:
                if entries.denies(certificate, now):
                    is_leaf = certificate is path.certificates[0]
                    who = "it" if is_leaf else f"the authority {certificate.subject}"
                    return f"{who} is on the deny list of the realm {name}"
        return None

    async def denies(self, realm: Realm, identity: str, now: datetime) -> bool:
        lists = await self._of(realm)
        return any(entries.denies_id(identity, now) for _, entries in lists)

    async def _of(self, realm: Realm) -> tuple[tuple[str, DenyList], ...]:
        """Return the deny lists with entries that count; raises StoreUnavailable."""
        now, current_at = self._clock.now(), self._current_at
        if current_at is None or not current_at <= now < current_at + CHANGES_AGE:
            await self._reading.run("", lambda: self._read_changes(realm.id, now))
        if realm.id in self._without_entries:
            return ()
        version = self._version
        found = [(realm.name, await self._deny_list_of(realm.id))]
        if realm.name != MASTER:
            found.append((MASTER, await self._deny_list_of(await self._find_master(realm.id))))
        counting = tuple((name, entries) for name, entries in found if not entries.is_empty)
        if not counting and version == self._version:
            if len(self._without_entries) >= _MOST_WITHOUT_ENTRIES:
                self._without_entries.clear()
            self._without_entries.add(realm.id)
        return counting

    async def _read_changes(self, realm_id: str, now: datetime) -> None:
        await self._changes.catch_up(realm_id)
        self._current_at = now

    async def _deny_list_of(self, realm_id: str) -> DenyList:
        known = self._lists.get(realm_id)
        return known or await self._loading.run(realm_id, lambda: self._load_deny_list(realm_id))

    async def _load_deny_list(self, realm_id: str) -> DenyList:
        while True:
            version = self._version
            async with self._database.read() as stores:
                entries = DenyList(await stores.denied_certificates.identities(realm_id))
            if version == self._version:
                self._lists.put(realm_id, entries)
                return entries

    async def _find_master(self, other: str) -> str:
        """Return the id of the realm master; without one, that of the `other` realm."""
        if self._master_id is None:
            async with self._database.read() as stores:
                master = await stores.realms.find_by_name(MASTER)
            if master is None:
                return other
            self._master_id = master.id
        return self._master_id

    def _forget_topic(self, topic: str | None) -> None:
        if topic is None:
            self._version += 1
            self._lists.clear()
            self._without_entries.clear()
            self._master_id = None
        elif topic.startswith((DENY_LIST_TOPIC, REALM_TOPIC)):
            self._version += 1
            self._lists.drop(topic.split(":")[1])
            # The realm may be master, whose entries count in all of them.
            self._without_entries.clear()


def _weigh(_realm_id: str, entries: DenyList) -> int:
    return entries.size
