"""Sends events to the webhooks of their realms, as often as it takes within bounds.

An event is in the queue until its receiver has confirmed it, so it may come twice where a gateway
is killed between the two: with the same id.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from gateway.domain.clock import Clock
from gateway.domain.deliveries import FailedDelivery
from gateway.domain.deliveries.webhooks import WebhookDelivery, WebhookNotReceived
from gateway.domain.errors import SecretUnreadable
from gateway.domain.ports.outgoing.webhooks import WebhookSender
from gateway.domain.ports.storage import Database
from gateway.domain.realm import webhook_of

LEASE: Final = timedelta(seconds=30)
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
            return await stores.webhooks.claim(now, LEASE, most, busy)

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
        webhook = None if realm is None else webhook_of(realm.attributes, realm.webhook_secret)
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
