"""Finding clients, and what a caller may see and change of them.

A caller who may view clients sees their secrets, as in Keycloak; but the secret of a service
account with more rights than the caller is masked. Clients that hold administrative roles cannot be
changed.
Keycloak: 7.3, 9
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    AdminRole,
    NotFound,
    has_every_right,
    is_above,
    is_administrative_client,
    require_changeable_clients,
    require_may_lift_scope,
    require_may_put_in_scope,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.client_reach import store_changed_part
from gateway.domain.clients import Client
from gateway.domain.ports.invalidation import client_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.storage.role_catalogue import RoleQuery
from gateway.representations.clients import client_representation

MANAGE_CLIENTS: Final = (AdminRole.MANAGE_CLIENTS,)
VIEW_CLIENTS: Final = (AdminRole.VIEW_CLIENTS, *MANAGE_CLIENTS)
QUERY_CLIENTS: Final = (AdminRole.QUERY_CLIENTS, *VIEW_CLIENTS)


async def get_client(stores: Stores, realm_id: str, client_id: str) -> Client:
    """Return the client with that internal id; raises NotFound."""
    return _found(await stores.clients.find_by_id(realm_id, client_id))


async def get_client_for_update(stores: Stores, realm_id: str, client_id: str) -> Client:
    """Return the same, locked until the transaction ends."""
    return _found(await stores.clients.get_for_update(realm_id, client_id))


def _found(client: Client | None) -> Client:
    if client is None:
        raise NotFound("Could not find client")
    return client


@asynccontextmanager
async def changing_client(
    changes: Changes, acting: Acting, client_id: str
) -> AsyncIterator[tuple[Change, Client]]:
    """Open a change of one client, locked; raises NotFound, and Forbidden if it must not change."""
    async with changes.begin(acting) as change:
        client = await get_client_for_update(change.stores, acting.realm.id, client_id)
        require_changeable_clients(acting, client.client_id)
        yield change, client


async def replace_client(change: Change, before: Client, client: Client) -> None:
    """Store the client and invalidate what gateways hold of it."""
    await store_changed_part(change.stores, change.acting, before, client)
    change.invalidate(client_topic(client.realm_id, client.id))


async def has_roles(stores: Stores, client: Client) -> bool:
    """Tell whether the client has roles of its own."""
    query = RoleQuery(container=client.id, maximum=1)
    return bool(await stores.role_catalogue.list(client.realm_id, query))


async def clients_out_of_reach(
    acting: Acting, stores: Stores, clients: Iterable[Client]
) -> frozenset[str]:
    """Return the ids of those whose service account has more rights than the caller."""
    if has_every_right(acting):
        return frozenset()
    held = await stores.clients.account_roles(acting.realm.id, [client.id for client in clients])
    return frozenset(owner for owner, roles in held.items() if is_above(acting, roles))


async def require_may_widen_scope(
    acting: Acting, stores: Stores, before: Client, after: Client
) -> None:
    """Raise Forbidden where full scope or new client scopes exceed the caller's own scope."""
    if before.full_scope_allowed:
        return
    if after.full_scope_allowed:
        require_may_lift_scope(acting)
    added = _scope_names(after) - _scope_names(before)
    if not added:
        return
    ids = [
        scope.id for scope in await stores.client_scopes.list(after.realm_id) if scope.name in added
    ]
    reached = await stores.role_scopes.reached(after.realm_id, None, ids)
    await require_may_put_in_scope(acting, stores, sorted(reached))


def _scope_names(client: Client) -> frozenset[str]:
    return frozenset((*client.default_client_scopes, *client.optional_client_scopes))


async def load_client_document(acting: Acting, stores: Stores, client: Client) -> dict[str, Any]:
    """Return what the caller sees of the client."""
    masked = bool(await clients_out_of_reach(acting, stores, [client]))
    return client_document(acting, client, masked=masked)


def client_document(acting: Acting, client: Client, *, masked: bool) -> dict[str, Any]:
    """Return the client with what the caller may do to it."""
    return {**client_representation(client, masked=masked), "access": _access(acting, client)}


def _access(acting: Acting, client: Client) -> Mapping[str, bool]:
    manages = acting.rights.has(*MANAGE_CLIENTS)
    changeable = manages and not is_administrative_client(acting.realm, client.client_id)
    return {"view": True, "configure": changeable, "manage": changeable}
