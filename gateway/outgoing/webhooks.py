"""Sends events to webhooks, signed as Standard Webhooks describes.

The header `webhook-signature` is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64.
Receivers compare it, refuse old timestamps, and recognize an event that comes again by its id.
docs/events.md
"""

import base64
import binascii
import hashlib
import hmac
from datetime import datetime
from http import HTTPStatus
from typing import Final

from gateway.domain.deliveries.webhooks import WebhookDelivery, WebhookNotReceived
from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable
from gateway.domain.realm import Webhook
from gateway.domain.secrets import Secret
from gateway.outgoing.http_client import GuardedHttpClient

_JSON: Final = "application/json"
_BASE64: Final = "whsec_"
"""Before a secret that is written in base64."""


class HttpWebhookSender:
    """WebhookSender by the guarded HTTP client."""

    def __init__(self, client: GuardedHttpClient) -> None:
        self._client = client

    async def send(self, webhook: Webhook, delivery: WebhookDelivery, now: datetime) -> None:
        content = delivery.body.encode()
        timestamp = str(int(now.timestamp()))
        signature = _signature(webhook.secret, f"{delivery.id}.{timestamp}.".encode() + content)
        headers = (
            ("webhook-id", delivery.id),
            ("webhook-timestamp", timestamp),
            ("webhook-signature", signature),
        )
        try:
            response = await self._client.post(webhook.url, content, _JSON, headers)
        except DocumentUnavailable as failure:
            raise WebhookNotReceived(str(failure)) from failure
        if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            reason = f"the receiver answered with {response.status}"
            raise WebhookNotReceived(reason, is_final=response.status == HTTPStatus.GONE)


def _signature(secret: Secret, content: bytes) -> str:
    digest = hmac.digest(_key(secret.reveal()), content, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"


def _key(text: str) -> bytes:
    """Return the key: what is in base64 after `whsec_`, or else the text of the secret."""
    if text.startswith(_BASE64):
        try:
            return base64.b64decode(text.removeprefix(_BASE64), validate=True)
        except binascii.Error:
            pass
    return text.encode()
