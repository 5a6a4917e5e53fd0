"""Which client certificates were presented and trusted, so that their end can be reported.

A sighting waits in memory and is written in the background, at most one a day of a certificate and
one an hour of its tokens: no request waits for it, and none is refused because writing fails.
"""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Final

from gateway.certificates.trust import CertificateTrust
from gateway.domain.certificates import CertificateEvidence, ClientCertificate, PresentedCertificate
from gateway.domain.errors import StoreUnavailable
from gateway.domain.expiry import Sighting
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm

MOST_WAITING: Final = 2_000
"""Sightings of a worker that wait; others are noted when they are seen again."""
_BATCH: Final = 500
_REMEMBERED_BYTES: Final = 12 * 1024 * 1024
"""Memory of a worker for 21,000 entries: 5,000 certificates in use, and as many old ones.

A certificate has an entry for its day, and another for the hour of its tokens.
"""
_NOTED_BYTES: Final = 350
_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_TOKEN: Final = b"token"
_Key = tuple[str, bytes]
"""Id of the realm, digest of the certificate."""


class SeenCertificates:
    """The sightings of one worker. Belongs to one event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: SizedCache[_Key, datetime] = SizedCache(_REMEMBERED_BYTES, _weigh)
        """When the day of the last sighting ends."""
        self.waiting: dict[_Key, Sighting] = {}
        """Sightings to be written: none most of the time."""

    def note(self, realm_id: str, leaf: PresentedCertificate, now: datetime) -> None:
        """Note that the certificate was trusted in the realm."""
        key = (realm_id, leaf.digest)
        end = self._noted.get(key)
        if (end is not None and now < end) or len(self.waiting) >= MOST_WAITING:
            return
        day = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
        self._noted.put(key, day + _DAY)
        self._wait(Sighting(realm_id, leaf, day, noted_at=now))

    def note_use(
        self, realm_id: str, leaf: PresentedCertificate, client: str | None, user_id: str | None
    ) -> None:
        """Note client and user of a certificate whose first use is not stored yet."""
        waiting = self.waiting.get((realm_id, leaf.digest))
        if waiting is not None:
            self._wait(replace(waiting, client=client, user_id=user_id))

    def note_token(
        self, realm_id: str, leaf: PresentedCertificate, client: str | None, now: datetime
    ) -> None:
        """Note that a token was issued to the certificate, which must be a trusted one."""
        key = (realm_id, _TOKEN + leaf.digest)
        end = self._noted.get(key)
        if (end is not None and now < end) or len(self.waiting) >= MOST_WAITING:
            return
        hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        self._noted.put(key, hour + _HOUR)
        day = datetime.combine(hour.date(), time(), UTC)
        self._wait(Sighting(realm_id, leaf, day, client, noted_at=now, token_at=hour))

    def _wait(self, sighting: Sighting) -> None:
        key = (sighting.realm_id, sighting.leaf.digest)
        waiting = self.waiting.get(key)
        self.waiting[key] = sighting if waiting is None else _merged(waiting, sighting)

    async def write_sightings(self) -> None:
        """Store what waits; raises StoreUnavailable, and keeps then what was not stored."""
        while self.waiting:
            batch = dict(list(self.waiting.items())[:_BATCH])
            for key in batch:
                del self.waiting[key]
            try:
                async with self._database.write() as stores:
                    await stores.seen_certificates.record(tuple(batch.values()))
            except StoreUnavailable:
                later, self.waiting = self.waiting, batch
                for sighting in later.values():
                    self._wait(sighting)
                raise


def _merged(earlier: Sighting, later: Sighting) -> Sighting:
    """Return what both say: the first instant, the last day and hour, the last client and user."""
    instants = [each.noted_at for each in (earlier, later) if each.noted_at is not None]
    hours = [each.token_at for each in (earlier, later) if each.token_at is not None]
    return replace(
        later,
        seen_at=max(earlier.seen_at, later.seen_at),
        client=later.client or earlier.client,
        user_id=later.user_id or earlier.user_id,
        noted_at=min(instants, default=None),
        token_at=max(hours, default=None),
    )


def _weigh(key: _Key, _end: datetime) -> int:
    return _NOTED_BYTES + len(key[0])


class ObservedTrust:
    """CertificateTrust that notes each certificate which it trusts."""

    def __init__(self, trust: CertificateTrust, seen: SeenCertificates) -> None:
        self._trust = trust
        self._seen = seen

    async def evaluate(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
        *,
        client: str | None = None,
    ) -> ClientCertificate:
        found = await self._trust.evaluate(evidence, realm, now, client=client)
        if found.identifies:
            self._seen.note(realm.id, evidence.leaf, now)
        return found
