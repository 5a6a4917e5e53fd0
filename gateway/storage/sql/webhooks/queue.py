"""Events for webhooks: one row each, until the receiver has confirmed it or it is given up."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select, update

from gateway.domain.deliveries.webhooks import (
    KEPT_AFTERWARDS,
    MOST_WAITING,
    WebhookDelivery,
    WebhookStatus,
)
from gateway.storage.sql.delivery_rows import DeliveryRows
from gateway.storage.sql.schema import webhook_deliveries as webhooks
from gateway.storage.sql.transaction import Transaction

_OVER = {"due_at": None}


class SqlWebhooks:
    """WebhookQueue on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._rows = DeliveryRows(transaction, webhooks)

    async def add(self, realm_id: str, added: Sequence[WebhookDelivery]) -> bool:
        if await self._rows.is_full(realm_id, MOST_WAITING):
            return False
        rows = [
            {
                "realm_id": realm_id,
                "id": delivery.id,
                "body": delivery.body,
                "created_at": delivery.created_at,
                "due_at": delivery.created_at,
                "attempts": 0,
            }
            for delivery in added
        ]
        await self._transaction.insert_missing(webhooks, rows)
        return True

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        return await self._rows.has_due(now, busy)

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[WebhookDelivery, ...]:
        return tuple(map(_delivery, await self._rows.claim(now, lease, most, busy)))

    async def postpone(self, delivery: WebhookDelivery, due_at: datetime, reason: str) -> None:
        await self._rows.change([_key(delivery)], {"due_at": due_at, "reason": reason})

    async def received(self, delivery: WebhookDelivery) -> None:
        row = webhooks.c.realm_id == delivery.realm_id, webhooks.c.id == delivery.id
        await self._transaction.execute(delete(webhooks).where(*row))

    async def give_up(self, delivery: WebhookDelivery, now: datetime, reason: str) -> None:
        await self._rows.change([_key(delivery)], {**_OVER, "failed_at": now, "reason": reason})

    async def list(self, realm_id: str, first: int, most: int) -> tuple[WebhookStatus, ...]:
        shown = (
            select(webhooks)
            .where(webhooks.c.realm_id == realm_id)
            .order_by(webhooks.c.created_at, webhooks.c.id)
            .offset(first)
            .limit(most)
        )
        return await self._transaction.read(shown, _status)

    async def retry(self, realm_id: str, now: datetime) -> int:
        given_up = webhooks.c.realm_id == realm_id, webhooks.c.failed_at.is_not(None)
        again = {"due_at": now, "created_at": now, "attempts": 0, "failed_at": None}
        return await self._transaction.count_changed(
            update(webhooks).where(*given_up).values(again)
        )

    async def purge(self, now: datetime) -> None:
        over = webhooks.c.failed_at <= now - KEPT_AFTERWARDS
        await self._transaction.execute(delete(webhooks).where(over))


def _key(delivery: WebhookDelivery) -> tuple[str, str]:
    return (delivery.realm_id, delivery.id)


def _delivery(row: Any) -> WebhookDelivery:
    return WebhookDelivery(row.realm_id, row.id, row.body, row.created_at, row.attempts + 1)


def _status(row: Any) -> WebhookStatus:
    return WebhookStatus(
        **{name: getattr(row, name) for name in WebhookStatus.__dataclass_fields__}
    )
