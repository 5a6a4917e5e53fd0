"""Events that wait for the webhook of a realm, or were given up."""

from gateway.admin.access import Acting
from gateway.domain.clock import Clock
from gateway.domain.deliveries.webhooks import WebhookStatus
from gateway.domain.ports.storage import Database


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
