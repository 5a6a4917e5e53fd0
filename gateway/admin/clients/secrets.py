"""A client's secret: reading it, and making another. Keycloak: clients/{id}/client-secret.

The old secret is worth nothing from the moment a new one is made, unless a client policy of the
realm lets it be accepted for a while: then it is the rotated secret.
"""

from typing import Any

from gateway.admin.access import (
    Acting,
    Changes,
    Missing,
    require_changeable_clients,
    require_may_control,
)
from gateway.admin.clients.access import find_client, find_client_alone
from gateway.admin.clients.secret_rotation import with_renewed_secret
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic
from gateway.domain.ports.storage import Database
from gateway.domain.secrets import Secret
from gateway.representations.clients import without_rotated_secret


class ClientSecrets:
    """The use cases. All raise Missing, Forbidden and StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes, clock: Clock) -> None:
        self._database = database
        self._changes = changes
        self._clock = clock

    async def read(self, acting: Acting, client_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            client = await find_client(stores, acting.realm.id, client_id)
            await require_may_control(acting, stores, *acting.controls)
        return _told(client)

    async def renew(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Make a new secret and return it; a public client has no use for it."""
        async with self._changes.begin(acting) as change:
            client = await find_client_alone(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            renewed = with_renewed_secret(change.realm, client, self._clock)
            await change.stores.clients.replace(renewed)
            change.tell(client_topic(acting.realm.id, client.id))
            told = _told(renewed)
            path = f"clients/{client.id}/client-secret"
            change.record(OperationType.ACTION, ResourceType.CLIENT, path, told)
        return told

    async def get_rotated(self, acting: Acting, client_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            client = await find_client(stores, acting.realm.id, client_id)
            await require_may_control(acting, stores, *acting.controls)
        if client.rotated_secret is None:
            raise Missing("Client does not have a rotated secret")
        return _credential(client.rotated_secret)

    async def remove_rotated(self, acting: Acting, client_id: str) -> None:
        async with self._changes.begin(acting) as change:
            client = await find_client_alone(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            path = f"clients/{client.id}/client-secret/rotated"
            removed = None
            if client.rotated_secret is not None:
                await change.stores.clients.replace(without_rotated_secret(client))
                change.tell(client_topic(acting.realm.id, client.id))
                removed = _credential(client.rotated_secret)
            change.record(OperationType.DELETE, ResourceType.CLIENT, path, removed)


def _told(client: Client) -> dict[str, Any]:
    return {"type": "secret"} if client.secret is None else _credential(client.secret)


def _credential(secret: Secret) -> dict[str, Any]:
    return {"type": "secret", "value": secret.reveal()}
