"""Sends the mails of the queue, as often as it takes within bounds.

A mail is in the queue until a server has accepted it, so it may be sent twice where a gateway is
killed between the two: with the same Message-ID, by which servers and readers know the copy.
attacks E8
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from gateway.domain.clock import Clock
from gateway.domain.deliveries import FailedDelivery
from gateway.domain.errors import SecretUnreadable
from gateway.domain.mail import MailNotSent, QueuedMail, mail_server
from gateway.domain.ports.outgoing.mail import MailSender
from gateway.domain.ports.storage import Database

LEASE: Final = timedelta(seconds=60)
"""Longer than one attempt takes: then the mail of a worker that was killed is due again."""


class MailDelivery:
    """Deliveries of mails."""

    def __init__(self, database: Database, sender: MailSender, clock: Clock) -> None:
        self._database = database
        self._sender = sender
        self._clock = clock

    async def claim(self, most: int, busy: Collection[str] = ()) -> tuple[QueuedMail, ...]:
        now = self._clock.now()
        async with self._database.read() as stores:
            if not await stores.mails.has_due(now, busy):
                return ()
        async with self._database.write() as stores:
            return await stores.mails.claim(now, LEASE, most, busy)

    async def deliver(self, claimed: QueuedMail) -> FailedDelivery | None:
        try:
            await self._send(claimed)
        except MailNotSent as failure:
            return await self._failed(claimed, failure)
        async with self._database.write() as stores:
            await stores.mails.sent(claimed, self._clock.now())
        return None

    async def _send(self, queued: QueuedMail) -> None:
        try:
            async with self._database.read() as stores:
                realm = await stores.realms.find_by_id(queued.mail.realm_id)
        except SecretUnreadable as error:
            raise MailNotSent("the encryption key does not open the realm's secrets") from error
        if realm is None:
            raise MailNotSent("the realm does not exist any more", is_final=True)
        await self._sender.send(mail_server(realm.smtp), queued.mail)

    async def _failed(self, queued: QueuedMail, failure: MailNotSent) -> FailedDelivery:
        now, reason = self._clock.now(), str(failure)
        again = None if failure.is_final else queued.next_attempt_at(now)
        async with self._database.write() as stores:
            if again is None:
                await stores.mails.give_up(queued, now, reason)
            else:
                await stores.mails.postpone(queued, again, reason)
        return FailedDelivery(
            realm_id=queued.realm_id,
            subject=queued.mail.id,
            attempts=queued.attempts,
            reason=reason,
            is_last=again is None,
        )
