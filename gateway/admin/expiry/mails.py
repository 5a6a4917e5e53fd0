"""Mails ahead of time about what expires: at most one a day and recipient, of each realm.

A thing is reported once for each number of days ahead. What was reported is stored in the
transaction that queues the mail, under a lock of the realm: however many workers and gateways there
are, each report is sent once.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta

from gateway.admin.expiry.listing import ExpiryListing
from gateway.domain.clock import Clock
from gateway.domain.expiry import Expiration
from gateway.domain.mail import ExpiryMailSettings, QueuedMail, expiry_mail, expiry_mails_of
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm


class ExpiryMails:
    """Puts the mails into the queue."""

    def __init__(self, database: Database, listing: ExpiryListing, clock: Clock) -> None:
        self._database = database
        self._listing = listing
        self._clock = clock

    async def queue(self) -> None:
        """Queue the mails of every realm that are due; raises StoreUnavailable."""
        async with self._database.read() as stores:
            realms = await stores.realms.list()
        for realm in realms:
            settings = expiry_mails_of(realm)
            if settings.recipients:
                await self._queue(realm, settings)

    async def _queue(self, realm: Realm, settings: ExpiryMailSettings) -> None:
        now = self._clock.now()
        listed = await self._listing.list(realm.name, timedelta(days=settings.days[-1]))
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
            await stores.expiry_notices.add(realm.id, notices, now)
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
    """Return what was not reported as few days ahead."""
    known = await stores.expiry_notices.list(realm.id, stages)
    return [
        each
        for each in listed
        if each.id in stages and (each.id not in known or stages[each.id] < known[each.id])
    ]
