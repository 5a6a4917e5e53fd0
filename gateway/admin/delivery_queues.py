"""The queues of mails to users and of events for webhooks: filled, listed, sent within bounds.

A mail is in the queue until a server has accepted it, so it may be sent twice where a gateway is
killed between the two: with the same Message-ID, by which servers and readers know the copy.
An event is in the queue until its receiver has confirmed it, so it may come twice as well, with the
same id. attacks E8
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

from gateway.admin.access import Acting
from gateway.domain.clock import Clock
from gateway.domain.deliveries import (
    FailedDelivery,
    NotDelivered,
    RetriedT,
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
from gateway.domain.ports.storage import (
    Database,
    DeliveryQueue,
    MailQueue,
    Stores,
    WebhookQueue,
)
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest
from gateway.domain.users import User


class OutgoingDeliveries:
    """The queues of a realm for the operator: mails to users, and events for webhooks."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def queue_test_mail(self, acting: Acting, user: User) -> str:
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

    async def list_mails(self, acting: Acting, first: int, most: int) -> tuple[MailStatus, ...]:
        """Return the mails of the realm that wait or were given up, the oldest first."""
        async with self._database.read() as stores:
            return await stores.mails.list_deliveries(acting.realm.id, first, most)

    async def list_deliveries(
        self, acting: Acting, first: int, most: int
    ) -> tuple[WebhookStatus, ...]:
        """Return the events of the realm that wait or were given up, the oldest first."""
        async with self._database.read() as stores:
            return await stores.webhooks.list_deliveries(acting.realm.id, first, most)

    async def retry_deliveries(self, acting: Acting) -> int:
        """Queue the given-up events again; return how many."""
        async with self._database.write() as stores:
            return await stores.webhooks.retry(acting.realm.id, self._clock.now())


SenderT = TypeVar("SenderT")


class _QueueDelivery(Generic[RetriedT, SenderT]):
    """Deliveries of one queue."""

    _lease: timedelta
    """Longer than one attempt takes: then the claims of a killed worker are due again."""

    def __init__(self, database: Database, sender: SenderT, clock: Clock) -> None:
        self._database = database
        self._sender = sender
        self._clock = clock

    def _queue(self, stores: Stores) -> DeliveryQueue[RetriedT, Any]:
        raise NotImplementedError

    async def _send(self, claimed: RetriedT) -> None:
        """Make one attempt; raises NotDelivered."""
        raise NotImplementedError

    async def claim(self, most: int, busy: Collection[str] = ()) -> tuple[RetriedT, ...]:
        now = self._clock.now()
        async with self._database.read() as stores:
            if not await self._queue(stores).has_due(now, busy):
                return ()
        async with self._database.write() as stores:
            return await self._queue(stores).claim(now, self._lease, most, busy)

    async def deliver(self, claimed: RetriedT) -> FailedDelivery | None:
        try:
            await self._send(claimed)
        except NotDelivered as failure:
            return await self._failed(claimed, failure)
        async with self._database.write() as stores:
            await self._queue(stores).delivered(claimed, self._clock.now())
        return None

    async def _find_realm(self, realm_id: str) -> Realm | None:
        try:
            async with self._database.read() as stores:
                return await stores.realms.find_by_id(realm_id)
        except SecretUnreadable as error:
            reason = "the encryption key does not open the realm's secrets"
            raise NotDelivered(reason) from error

    async def _failed(self, claimed: RetriedT, failure: NotDelivered) -> FailedDelivery:
        now, reason = self._clock.now(), str(failure)
        again = None if failure.is_final else claimed.next_attempt_at(now)
        async with self._database.write() as stores:
            if again is None:
                await self._queue(stores).give_up(claimed, now, reason)
            else:
                await self._queue(stores).postpone(claimed, again, reason)
        return FailedDelivery(
            realm_id=claimed.realm_id,
            subject=claimed.id,
            attempts=claimed.attempts,
            reason=reason,
            is_last=again is None,
        )


MAIL_LEASE: Final = timedelta(seconds=60)


class MailDelivery(_QueueDelivery[QueuedMail, MailSender]):
    """Deliveries of mails."""

    _lease = MAIL_LEASE

    def _queue(self, stores: Stores) -> MailQueue:
        return stores.mails

    async def _send(self, claimed: QueuedMail) -> None:
        realm = await self._find_realm(claimed.realm_id)
        if realm is None:
            raise MailNotSent("the realm does not exist any more", is_final=True)
        await self._sender.send(mail_server(realm.smtp), claimed.mail)


EVENT_LEASE: Final = timedelta(seconds=30)


class WebhookDeliveries(_QueueDelivery[WebhookDelivery, WebhookSender]):
    """Deliveries of events. An event goes to the webhook that the realm has when it is sent."""

    _lease = EVENT_LEASE

    def _queue(self, stores: Stores) -> WebhookQueue:
        return stores.webhooks

    async def _send(self, claimed: WebhookDelivery) -> None:
        realm = await self._find_realm(claimed.realm_id)
        webhook = None if realm is None else realm.webhook
        if webhook is None:
            raise WebhookNotReceived("the realm has no webhook any more", is_final=True)
        await self._sender.send(webhook, claimed, self._clock.now())
