"""Sending events to webhooks."""

from datetime import datetime
from typing import Protocol

from gateway.domain.deliveries.webhooks import WebhookDelivery
from gateway.domain.realm import Webhook


class WebhookSender(Protocol):
    """Sends events to the webhooks of realms."""

    async def send(self, webhook: Webhook, delivery: WebhookDelivery, now: datetime) -> None:
        """Return once the receiver has confirmed the event; raises WebhookNotReceived."""
