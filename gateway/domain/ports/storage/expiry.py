"""What expires: the certificates that realms have, and those that were presented to them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from gateway.domain.expiry import ExpirySummary, SeenCertificate, Sighting, StoredCertificate


class CertificateInventory(Protocol):
    """The certificates that administrators and the gateway have stored."""

    async def list(self, realm: str | None = None) -> tuple[StoredCertificate, ...]:
        """Return those of the realm with that name, or of every realm.

        They are certificates of keys, registered authorities, and certificates of clients.
        """


class SeenCertificateRepository(Protocol):
    """The client certificates that were presented and trusted."""

    async def record(self, sightings: Sequence[Sighting]) -> None:
        """Store the sightings, of each certificate one a day.

        Those of a realm that does not exist any more are left out. Of a realm at most `MOST_SEEN`
        certificates stay: those that were seen last.
        """

    async def list(
        self, realm: str | None, now: datetime, within: timedelta | None, most: int
    ) -> tuple[SeenCertificate, ...]:
        """Return certificates that are due within the time, those that expire first.

        None is for all, whenever they expire. Without a realm: those of every realm. A certificate
        is left out that a later one of the same subject and issuer has replaced.
        """

    async def summarize(self, now: datetime) -> tuple[ExpirySummary, ...]:
        """Return a summary for each realm, by the same rules."""

    async def purge(self, before: datetime) -> None:
        """Remove the certificates that expired before the instant."""


class ExpiryNotices(Protocol):
    """What mails have reported already."""

    async def last_at(self, realm_id: str) -> datetime | None:
        """Return when the last mail of the realm was queued."""

    async def list(self, realm_id: str, ids: Collection[str]) -> Mapping[str, int]:
        """Return the least number of days ahead at which each of `ids` was reported."""

    async def add(
        self, realm_id: str, notices: Mapping[str, tuple[int, datetime]], now: datetime
    ) -> None:
        """Note what is reported: its days ahead, and when it expires."""

    async def purge(self, before: datetime) -> None:
        """Remove the notices of what expired before the instant."""
