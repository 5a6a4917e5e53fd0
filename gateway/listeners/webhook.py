"""`webhook`: sends the events of a realm to a URL, as JSON, signed, as often as it takes."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from gateway.domain.deliveries.webhooks import WebhookDelivery
from gateway.domain.events import UserEvent
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm, webhook_of
from gateway.listeners.event_json import event_json
from gateway.listeners.listener import ListenerOptions

NAME: Final = "webhook"


class WebhookListener:
    """Adds a row to the queue of events for webhooks."""

    def __init__(self, options: ListenerOptions) -> None:
        self._log = options.log

    def wants(self, realm: Realm, name: str, *, failed: bool) -> bool:
        del failed
        webhook = webhook_of(realm.attributes, realm.webhook_secret)
        return webhook is not None and name in webhook.events

    async def queue(self, stores: Stores, events: Sequence[UserEvent]) -> None:
        by_realm = attrgetter("realm_id")
        for realm_id, group in groupby(sorted(events, key=by_realm), by_realm):
            name = await stores.realms.find_name(realm_id)
            if name is None:
                continue
            added = [_delivery(name, event) for event in group]
            if not await stores.webhooks.add(realm_id, added):
                self._log.error("webhook events dropped", realm_id=realm_id, number=len(added))


def _delivery(realm_name: str, event: UserEvent) -> WebhookDelivery:
    body = event_json(realm_name, event).decode()
    return WebhookDelivery(event.realm_id, event.id, body, event.time)
