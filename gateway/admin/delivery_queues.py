"""The queues of mails to users and of events for webhooks: filled, listed, sent within bounds.

A mail is in the queue until a server has accepted it, so it may be sent twice where a gateway is
killed between the two: with the same Message-ID, by which servers and readers know the copy.
An event is in the queue until its receiver has confirmed it, so it may come twice as well, with the
same id. attacks E8
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from gateway.admin.access import Acting
from gateway.domain.clock import Clock
from gateway.domain.deliveries import (
    FailedDelivery,
    WebhookDelivery,
    WebhookNotReceived,
    WebhookStatus,
)
from gateway.domain.errors import SecretUnreadable
from gateway.domain.mail import (
    MailKind,
    MailNotSent,
    MailStatus,
    QueuedMail,
    mail_server,
    user_mail,
)
from gateway.domain.ports.outgoing import MailSender, WebhookSender
from gateway.domain.ports.storage import Database
from gateway.domain.refusals import InvalidRequest
from gateway.domain.users import User


class UserMails:
    """Puts mails to users into the queue."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def test(self, acting: Acting, user: User) -> str:
        """Let the workers send a test mail to the user; return its id.

        Raises InvalidRequest where there is no address, no usable mail server, or a limit reached.
        """
        if not user.email:
            raise InvalidRequest("User email missing")
        try:
            mail_server(acting.realm.smtp)
        except MailNotSent as failure:
            raise InvalidRequest(str(failure)) from failure
        mail = user_mail(acting.realm, user, user.email, MailKind.TEST, self._clock.now())
        async with self._database.write() as stores:
            if not await stores.mails.add(QueuedMail(mail, user.id)):
                raise InvalidRequest("The limit of mails to this user or of this realm is reached")
        return mail.id

    async def list(self, acting: Acting, first: int, most: int) -> tuple[MailStatus, ...]:
        """Return the mails of the realm that wait or were given up, the oldest first."""
        async with self._database.read() as stores:
            return await stores.mails.list(acting.realm.id, first, most)


MAIL_LEASE: Final = timedelta(seconds=60)
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
            return await stores.mails.claim(now, MAIL_LEASE, most, busy)

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


class WaitingWebhooks:
    """Lists the queue of a realm for the operator."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def list(self, acting: Acting, first: int, most: int) -> tuple[WebhookStatus, ...]:
        """Return the events of the realm that wait or were given up, the oldest first."""
        async with self._database.read() as stores:
            return await stores.webhooks.list(acting.realm.id, first, most)

    async def retry(self, acting: Acting) -> int:
        """Let what was given up be sent again; return how many events."""
        async with self._database.write() as stores:
            return await stores.webhooks.retry(acting.realm.id, self._clock.now())


EVENT_LEASE: Final = timedelta(seconds=30)
"""Longer than one attempt takes: then the event of a worker that was killed is due again."""


class WebhookDeliveries:
    """Deliveries of events. An event goes to the webhook that the realm has when it is sent."""

    def __init__(self, database: Database, sender: WebhookSender, clock: Clock) -> None:
        self._database = database
        self._sender = sender
        self._clock = clock

    async def claim(self, most: int, busy: Collection[str] = ()) -> tuple[WebhookDelivery, ...]:
        now = self._clock.now()
        async with self._database.read() as stores:
            if not await stores.webhooks.has_due(now, busy):
                return ()
        async with self._database.write() as stores:
            return await stores.webhooks.claim(now, EVENT_LEASE, most, busy)

    async def deliver(self, claimed: WebhookDelivery) -> FailedDelivery | None:
        try:
            await self._send(claimed)
        except WebhookNotReceived as failure:
            return await self._failed(claimed, failure)
        async with self._database.write() as stores:
            await stores.webhooks.received(claimed)
        return None

    async def _send(self, delivery: WebhookDelivery) -> None:
        try:
            async with self._database.read() as stores:
                realm = await stores.realms.find_by_id(delivery.realm_id)
        except SecretUnreadable as error:
            reason = "the encryption key does not open the realm's secrets"
            raise WebhookNotReceived(reason) from error
        webhook = None if realm is None else realm.webhook
        if webhook is None:
            raise WebhookNotReceived("the realm has no webhook any more", is_final=True)
        await self._sender.send(webhook, delivery, self._clock.now())

    async def _failed(
        self, delivery: WebhookDelivery, failure: WebhookNotReceived
    ) -> FailedDelivery:
        now, reason = self._clock.now(), str(failure)
        again = None if failure.is_final else delivery.next_attempt_at(now)
        async with self._database.write() as stores:
            if again is None:
                await stores.webhooks.give_up(delivery, now, reason)
            else:
                await stores.webhooks.postpone(delivery, again, reason)
        return FailedDelivery(
            realm_id=delivery.realm_id,
            subject=delivery.id,
            attempts=delivery.attempts,
            reason=reason,
            is_last=again is None,
        )
