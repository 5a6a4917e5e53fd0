"""Listing what expires: what is stored, what was presented, and what the settings name."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import timedelta
from typing import Final

from gateway.domain.certificates import CertificateFacts
from gateway.domain.clock import Clock
from gateway.domain.expiry import (
    Expiration,
    ExpiryKind,
    ExpirySummary,
    Owner,
    OwnerKind,
    Renewal,
    RenewalKind,
    SeenCertificate,
    StoredCertificate,
    summarize,
)
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.certificates import CertificateReader
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER

STANDARD_WINDOW: Final = timedelta(days=30)
MOST_LISTED: Final = 10_000


class ExpiryListing:
    """The use cases. All raise StoreUnavailable."""

    def __init__(
        self,
        database: Database,
        reader: CertificateReader,
        of_settings: Callable[[], Awaitable[Iterable[Expiration]]],
        clock: Clock,
    ) -> None:
        """Take `of_settings`, which returns what the settings of this gateway name."""
        self._database = database
        self._reader = reader
        self._of_settings = of_settings
        self._clock = clock

    async def list(
        self,
        realm: str | None,
        within: timedelta | None,
        first: int = 0,
        maximum: int | None = None,
    ) -> tuple[Expiration, ...]:
        """Return what is due within the time, the first to expire first.

        None is for everything that is known. `realm` is the name of one, None for all of them;
        what the settings name is listed for all and for master. At most `MOST_LISTED`.
        """
        now = self._clock.now()
        last = min(first + (MOST_LISTED if maximum is None else maximum), first + MOST_LISTED)
        async with self._database.read() as stores:
            stored = await stores.certificate_inventory.list(realm)
            seen = await stores.seen_certificates.list(realm, now, within, last)
        found = list(map(_of_seen, seen))
        async for certificate in in_slices(stored):
            found += self._of_stored(certificate)
        if realm in {None, MASTER}:
            found += await self._of_settings()
        due = (each for each in found if within is None or each.is_due(now, within))
        return tuple(sorted(due, key=lambda each: each.order)[first:last])

    async def summarize(self) -> tuple[ExpirySummary, ...]:
        """Return a summary for each kind and realm, None for what the settings name."""
        now = self._clock.now()
        async with self._database.read() as stores:
            stored = await stores.certificate_inventory.list()
            seen = await stores.seen_certificates.summarize(now)
        found: list[Expiration] = []
        async for certificate in in_slices(stored):
            found += self._of_stored(certificate)
        return (*seen, *summarize((*found, *await self._of_settings()), now))

    def _of_stored(self, stored: StoredCertificate) -> Iterator[Expiration]:
        for facts in self._reader.read(stored.content):
            if stored.ends_at is None or stored.ends_at > facts.not_after:
                yield of_certificate(
                    stored.kind,
                    facts,
                    realm=stored.realm,
                    owners=(_owner(stored),),
                    renewal=_renewal(stored),
                )


def of_certificate(
    kind: ExpiryKind,
    facts: CertificateFacts,
    *,
    realm: str | None,
    owners: tuple[Owner, ...],
    renewal: Renewal,
) -> Expiration:
    """Return the end of a certificate."""
    return Expiration(
        kind=kind,
        id=facts.thumbprint,
        realm=realm,
        subject=facts.subject.rfc4514(),
        issuer=facts.issuer.rfc4514(),
        begins_at=facts.not_before,
        expires_at=facts.not_after,
        owners=owners,
        renewal=renewal,
    )


def _of_seen(seen: SeenCertificate) -> Expiration:
    users = ((OwnerKind.CLIENT, seen.client), (OwnerKind.USER, seen.username))
    return Expiration(
        kind=ExpiryKind.CLIENT_CERTIFICATE,
        id=seen.id,
        realm=seen.realm,
        subject=seen.subject,
        issuer=seen.issuer,
        begins_at=seen.begins_at,
        expires_at=seen.expires_at,
        owners=tuple(Owner(kind, name) for kind, name in users if name),
        renewal=Renewal(RenewalKind.ISSUER, seen.issuer),
        last_seen_at=seen.last_seen_at,
    )


def _owner(stored: StoredCertificate) -> Owner:
    if stored.kind is ExpiryKind.REALM_KEY:
        return Owner(OwnerKind.KEY, stored.name)
    if stored.client is None:
        return Owner(OwnerKind.REALM, stored.realm)
    return Owner(OwnerKind.CLIENT, stored.client)


def _renewal(stored: StoredCertificate) -> Renewal:
    match stored.kind:
        case ExpiryKind.REALM_KEY:
            return Renewal(RenewalKind.COMMAND, f"realmgate keys rotate --realm {stored.realm}")
        case ExpiryKind.AUTHORITY:
            client = "" if stored.client is None else f" --client {stored.client}"
            command = f"realmgate certs authority add FILE --realm {stored.realm}{client}"
            return Renewal(RenewalKind.COMMAND, command)
        case _:
            return Renewal(RenewalKind.CLIENT_ATTRIBUTES)
