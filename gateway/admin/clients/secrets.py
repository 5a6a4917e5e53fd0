"""A client's secret: reading and renewing it. Keycloak: clients/{id}/client-secret.

The old secret is rejected at once, unless a client policy of the realm accepts it for a while as
the rotated secret.
"""

from dataclasses import dataclass
from typing import Any

from gateway.admin.access import (
    Acting,
    NotFound,
    require_may_control,
)
from gateway.admin.changes import Changes
from gateway.admin.clients.access import changing_client, get_client, replace_client
from gateway.admin.clients.policy_enforcement import PolicyCaller, updater_of
from gateway.admin.clients.preparation import with_renewed_secret
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.storage import Database
from gateway.domain.secrets import Secret
from gateway.representations.clients import without_rotated_secret


@dataclass(frozen=True, slots=True)
class ClientSecrets:
    """The use cases. All raise NotFound, Forbidden and StoreUnavailable."""

    database: Database
    changes: Changes
    clock: Clock

    async def read(self, acting: Acting, client_id: str) -> dict[str, Any]:
        return _credential((await self._get(acting, client_id)).secret)

    async def renew(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Generate a new secret and return it; a public client cannot use it."""
        async with changing_client(self.changes, acting, client_id) as (change, client):
            updater = await updater_of(change.stores, change.realm, PolicyCaller(acting))
            renewed = with_renewed_secret(change.realm, client, self.clock, updater)
            await replace_client(change, client, renewed)
            credential = _credential(renewed.secret)
            path = f"clients/{client.id}/client-secret"
            change.record(OperationType.ACTION, ResourceType.CLIENT, path, credential)
        return credential

    async def get_rotated(self, acting: Acting, client_id: str) -> dict[str, Any]:
        rotated = (await self._get(acting, client_id)).rotated_secret
        if rotated is None:
            raise NotFound("Client does not have a rotated secret")
        return _credential(rotated)

    async def remove_rotated(self, acting: Acting, client_id: str) -> None:
        async with changing_client(self.changes, acting, client_id) as (change, client):
            path = f"clients/{client.id}/client-secret/rotated"
            removed = None
            if client.rotated_secret is not None:
                await replace_client(change, client, without_rotated_secret(client))
                removed = _credential(client.rotated_secret)
            change.record(OperationType.DELETE, ResourceType.CLIENT, path, removed)

    async def _get(self, acting: Acting, client_id: str) -> Client:
        async with self.database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
            await require_may_control(acting, stores, *acting.controls)
        return client


def _credential(secret: Secret | None) -> dict[str, Any]:
    return {"type": "secret"} | ({} if secret is None else {"value": secret.reveal()})
