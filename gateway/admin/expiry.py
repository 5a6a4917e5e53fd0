"""Certificates, revocation lists and keys that expire: their list, and mails ahead of time.

Listed are stored certificates, presented ones and the files of the settings. A thing is reported
once for each number of days ahead, in at most one mail a day and recipient of each realm. Each
report is stored in the transaction that queues the mail, under a lock of the realm: it is sent
once, however many workers and gateways there are.
"""

import shlex
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
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
    expiry_mail,
    summarize,
)
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.mail import QueuedMail
from gateway.domain.ports.certificates import CertificateReader
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import MASTER, ExpiryMailSettings, Realm

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
        """Take `of_settings`, which returns the expirations of files in this gateway's settings."""
        self._database = database
        self._reader = reader
        self._of_settings = of_settings
        self._clock = clock

    async def list_expirations(
        self,
        realm: str | None,
        within: timedelta | None,
        first: int = 0,
        maximum: int | None = None,
    ) -> tuple[Expiration, ...]:
        """Return the expirations that are due within the time, the first to expire first.

        None is for everything that is known. `realm` is the name of one, None for all of them;
        files of the settings are listed for all and for master. At most `MOST_LISTED`.
        """
        now = self._clock.now()
        last = min(first + (MOST_LISTED if maximum is None else maximum), first + MOST_LISTED)
        async with self._database.read() as stores:
            stored = await stores.certificate_inventory.list_certificates(realm)
            seen = await stores.seen_certificates.list_certificates(realm, now, within, last)
        found = list(map(_of_seen, seen))
        async for certificate in in_slices(stored):
            found += self._of_stored(certificate)
        if realm in {None, MASTER}:
            found += await self._of_settings()
        due = (each for each in found if within is None or each.is_due(now, within))
        return tuple(sorted(due, key=lambda each: each.order)[first:last])

    async def summarize_expirations(self) -> tuple[ExpirySummary, ...]:
        """Return a summary for each kind and realm; the realm of files in the settings is None."""
        now = self._clock.now()
        async with self._database.read() as stores:
            stored = await stores.certificate_inventory.list_certificates()
            seen = await stores.seen_certificates.summarize(now)
        found: list[Expiration] = []
        async for certificate in in_slices(stored):
            found += self._of_stored(certificate)
        return (*seen, *summarize((*found, *await self._of_settings()), now))

    def _of_stored(self, stored: StoredCertificate) -> Iterator[Expiration]:
        for facts in self._reader.read_certificates(stored.content):
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
            command = shlex.join(("realmgate", "keys", "rotate", "--realm", stored.realm))
            return Renewal(RenewalKind.COMMAND, command)
        case ExpiryKind.AUTHORITY:
            client = () if stored.client is None else ("--client", stored.client)
            words = ("realmgate", "certs", "authority", "add", "FILE", "--realm", stored.realm)
            return Renewal(RenewalKind.COMMAND, shlex.join((*words, *client)))
        case _:
            return Renewal(RenewalKind.CLIENT_ATTRIBUTES)


class ExpiryMails:
    """Puts the mails into the queue."""

    def __init__(self, database: Database, listing: ExpiryListing, clock: Clock) -> None:
        self._database = database
        self._listing = listing
        self._clock = clock

    async def queue_mails(self) -> None:
        """Queue the mails of every realm that are due; raises StoreUnavailable."""
        async with self._database.read() as stores:
            realms = await stores.realms.list_realms()
        for realm in realms:
            settings = realm.certificates.expiry_mails
            if settings.recipients:
                await self._queue_mails_of_realm(realm, settings)

    async def _queue_mails_of_realm(self, realm: Realm, settings: ExpiryMailSettings) -> None:
        now = self._clock.now()
        listed = await self._listing.list_expirations(realm.name, timedelta(days=settings.days[-1]))
        stages = {
            each.id: stage
            for each in listed
            if (stage := settings.stage(each.expires_at - now)) is not None
        }
        async with self._database.read() as stores:
            if not await _news(stores, realm, listed, stages):
                return
        async with self._database.write() as stores:
            locked = await stores.realms.get_for_update(realm.name)
            if locked is None or await _was_mailed_today(stores, realm, now):
                return
            news = await _news(stores, realm, listed, stages)
            notices = {each.id: (stages[each.id], each.expires_at) for each in news}
            await stores.expiry_notices.add_notices(realm.id, notices, now)
            for recipient in settings.recipients if news else ():
                mail = expiry_mail(locked, recipient, news, now)
                await stores.mails.add(QueuedMail(mail, None))


async def _was_mailed_today(stores: Stores, realm: Realm, now: datetime) -> bool:
    last = await stores.expiry_notices.last_at(realm.id)
    today = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
    return last is not None and last >= today


async def _news(
    stores: Stores, realm: Realm, listed: Sequence[Expiration], stages: Mapping[str, int]
) -> list[Expiration]:
    """Return the expirations that were not reported for as few days ahead."""
    known = await stores.expiry_notices.list_reported_days(realm.id, stages)
    return [
        each
        for each in listed
        if each.id in stages and (each.id not in known or stages[each.id] < known[each.id])
    ]
