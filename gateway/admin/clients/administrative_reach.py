"""The administrative roles that tokens of a client may carry: shown, and approved as they are.

An administrator who has examined a client, which another one has changed, approves it so.
"""

from dataclasses import dataclass
from typing import Any

from gateway.admin.access import Acting, require_changeable_clients
from gateway.admin.changes import Changes
from gateway.admin.client_reach import decide_on_client
from gateway.admin.clients.access import get_client, get_client_for_update
from gateway.domain.clients import AdministrativeReach
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic
from gateway.domain.ports.storage import Database


@dataclass(frozen=True, slots=True)
class ClientReach:
    """The use cases. All raise NotFound, Forbidden and StoreUnavailable."""

    database: Database
    changes: Changes

    async def get(self, acting: Acting, client_id: str) -> dict[str, Any]:
        async with self.database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
        return _render(client.reach)

    async def decide(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Let tokens of the client carry the administrative roles that the caller has."""
        async with self.changes.begin(acting) as change:
            client = await get_client_for_update(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            decided = _render((await decide_on_client(change, client)).reach)
            path = f"clients/{client.id}/administrative-roles"
            change.record(OperationType.UPDATE, ResourceType.CLIENT, path, decided)
            change.invalidate(client_topic(client.realm_id, client.id))
        return decided


def _render(reach: AdministrativeReach) -> dict[str, Any]:
    return {"all": reach.everything, "roles": sorted(reach.roles)}
