"""A client's secret: reading it, and making another. Keycloak: clients/{id}/client-secret.

There is one secret at a time: the old one is worth nothing from the moment a new one is made.
"""

from typing import Any

from gateway.admin.access import Acting
from gateway.admin.account_control import require_may_control
from gateway.admin.changes import Changes
from gateway.admin.client_access import find_client, find_client_alone
from gateway.admin.client_registration import with_new_secret
from gateway.admin.errors import Missing
from gateway.admin.escalation import require_changeable_clients
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic
from gateway.domain.ports.storage import Database


class ClientSecrets:
    """The use cases. All raise Missing, Forbidden and StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes, clock: Clock) -> None:
        """Read from `database`, change by `changes`."""
        self._database = database
        self._changes = changes
        self._clock = clock

    async def read(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Return the secret, if there is one."""
        async with self._database.read() as stores:
            client = await find_client(stores, acting.realm.id, client_id)
            await require_may_control(acting, stores, *acting.controls)
        return _told(client)

    async def renew(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Make a new secret and return it; a public client has no use for it."""
        async with self._changes.begin(acting) as change:
            client = await find_client_alone(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            renewed = with_new_secret(client, self._clock)
            await change.stores.clients.replace(renewed)
            change.tell(client_topic(acting.realm.id, client.id))
            told = _told(renewed)
            path = f"clients/{client.id}/client-secret"
            change.record(OperationType.ACTION, ResourceType.CLIENT, path, told)
        return told

    async def rotated(self, acting: Acting, client_id: str) -> None:
        """Tell of the secret before this one; raises Missing, for none is kept."""
        async with self._database.read() as stores:
            await find_client(stores, acting.realm.id, client_id)
        raise Missing("Client does not have a rotated secret")

    async def forget_rotated(self, acting: Acting, client_id: str) -> None:
        """Forget the secret before this one."""
        async with self._changes.begin(acting) as change:
            client = await find_client(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            path = f"clients/{client.id}/client-secret/rotated"
            change.record(OperationType.DELETE, ResourceType.CLIENT, path)


def _told(client: Client) -> dict[str, Any]:
    secret = client.secret
    value = {} if secret is None else {"value": secret.reveal()}
    return {"type": "secret", **value}
