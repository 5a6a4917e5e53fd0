"""A receiver of webhooks on the loopback address, that checks signatures by itself."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.loopback_server import serving

SECRET = "the secret of a webhook"


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """One request."""

    id: str
    timestamp: int
    signature: str
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    def is_signed(self, key: bytes = SECRET.encode()) -> bool:
        """Verify the signature as Standard Webhooks describes."""
        signed = f"{self.id}.{self.timestamp}.".encode() + self.body
        expected = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        return hmac.compare_digest(f"v1,{expected}", self.signature)


@dataclass(slots=True)
class WebhookReceiver:
    """What came in, by whether it was confirmed. `statuses` answer the next ones, 204 follows."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    confirmed: list[ReceivedEvent] = field(default_factory=list)
    refused: list[ReceivedEvent] = field(default_factory=list)

    def receive(self, event: ReceivedEvent) -> int:
        """Keep an event."""
        status = self.statuses.pop(0) if self.statuses else 204
        (self.confirmed if status < 300 else self.refused).append(event)
        return status


@contextmanager
def webhook_receiver() -> Iterator[WebhookReceiver]:
    """Receive events until the end of the block."""
    receiver = WebhookReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer an event."""
            names = ("webhook-id", "webhook-timestamp", "webhook-signature")
            event_id, timestamp, signature = (self.headers[name] for name in names)
            body = self.rfile.read(int(self.headers["content-length"]))
            status = receiver.receive(ReceivedEvent(event_id, int(timestamp), signature, body))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

    with serving(Handler) as url:
        receiver.url = f"{url}/events"
        yield receiver
