"""The queue of events for webhooks."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from gateway.domain.deliveries.webhooks import WebhookDelivery, WebhookStatus


class WebhookQueue(Protocol):
    """Events that wait for webhooks, of all realms. One waits until `received` or `give_up`."""

    async def add(self, realm_id: str, added: Sequence[WebhookDelivery]) -> bool:
        """Store events of a realm, due at once; those that are there stay. False where it is full.

        The limit is checked before: the last events that are added may exceed it.
        """

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        """Return whether any event is due, of realms that are not `busy`."""

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[WebhookDelivery, ...]:
        """Take due events and count the attempt: those tried least go first, then the longest due.

        None is of a `busy` realm. No other gateway gets them before the lease is over.
        """

    async def postpone(self, delivery: WebhookDelivery, due_at: datetime, reason: str) -> None:
        """Let the event be due at an instant."""

    async def received(self, delivery: WebhookDelivery) -> None:
        """Remove the event: the receiver has confirmed it."""

    async def give_up(self, delivery: WebhookDelivery, now: datetime, reason: str) -> None:
        """Keep the event as one that cannot be sent."""

    async def list(self, realm_id: str, first: int, most: int) -> tuple[WebhookStatus, ...]:
        """Return the events of a realm that wait or were given up, the oldest first."""

    async def retry(self, realm_id: str, now: datetime) -> int:
        """Let the events of a realm that were given up be due again; return how many."""

    async def purge(self, now: datetime) -> None:
        """Remove what is kept no longer."""
