"""The administrative roles that tokens of a client may carry: shown, and approved as they are.

An administrator who has examined a client, which another one has changed, approves it so.
"""

from dataclasses import dataclass
from typing import Any

from gateway.admin.access import (
    Acting,
    names_state,
    require_changeable_clients,
    require_match,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.client_reach import decide_on_client
from gateway.admin.clients.access import get_client, get_client_for_update, load_client_document
from gateway.domain.clients import AdministrativeReach, Client
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic
from gateway.domain.ports.storage import Database
from gateway.representations.clients import client_representation


@dataclass(frozen=True, slots=True)
class DecidedReach:
    """The roles as JSON, and a document whose tag changes with them and with the client."""

    roles: dict[str, Any]
    version: object


@dataclass(frozen=True, slots=True)
class ClientReach:
    """The use cases. All raise NotFound, Forbidden and StoreUnavailable."""

    database: Database
    changes: Changes

    async def get(self, acting: Acting, client_id: str) -> DecidedReach:
        async with self.database.read() as stores:
            return _decided(await get_client(stores, acting.realm.id, client_id))

    async def decide(self, acting: Acting, client_id: str) -> DecidedReach:
        """Let tokens of the client carry the administrative roles that the caller has.

        If-Match names the state of the client that was examined, or of its roles. Raises
        PreconditionFailed.
        """
        async with self.changes.begin(acting) as change:
            client = await get_client_for_update(change.stores, acting.realm.id, client_id)
            if names_state(acting.if_match):
                examined = await load_client_document(acting, change.stores, client)
                require_match(acting.if_match, _decided(client).version, examined)
            require_changeable_clients(acting, client.client_id)
            decided = await decide_on_client(change, client)
            record_reach(change, decided)
            change.invalidate(client_topic(client.realm_id, client.id))
        return _decided(decided)


def record_reach(change: Change, client: Client) -> None:
    """Record in the admin events which administrative roles tokens of the client may carry."""
    path = f"clients/{client.id}/administrative-roles"
    change.record(OperationType.UPDATE, ResourceType.CLIENT, path, render_reach(client.reach))


def render_reach(reach: AdministrativeReach) -> dict[str, Any]:
    """Return the roles as JSON; `all` where the list is empty because there is no limit."""
    return {"all": reach.everything, "roles": sorted(reach.roles)}


def _decided(client: Client) -> DecidedReach:
    roles = render_reach(client.reach)
    return DecidedReach(roles, {**client_representation(client, masked=True), "reach": roles})
