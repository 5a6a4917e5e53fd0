"""Finding and reading clients, as much of each as the caller may see and change.

A caller who may view clients sees their secrets, as in Keycloak; but the secret of a service
account with more rights than the caller is masked. Clients that hold administrative roles cannot be
changed.
Keycloak: 7.3 clients, 9 (administrative roles); GET clients, clients/{id}/service-account-user,
clients/{id}/installation/providers/{id}
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    AdminRole,
    existing,
    has_every_right,
    is_above,
    is_administrative_client,
    require_changeable_clients,
    require_may_lift_scope,
    require_may_put_in_scope,
)
from gateway.admin.changes import Administration, Change, Changes
from gateway.admin.client_reach import store_changed_part
from gateway.admin.clients.policies import PolicyCaller, enforce_policies, refused_by_policies
from gateway.client_policies import EventKind
from gateway.domain.clients import Client
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.invalidation import client_topic
from gateway.domain.ports.storage import ClientSearch, Stores
from gateway.domain.ports.users import RoleQuery
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, NotFound, TooMany, WireFamily
from gateway.representations.clients import INSTALLATIONS, Installation, client_representation
from gateway.representations.users import full_user

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
    return bool(await stores.role_catalogue.list_roles(client.realm_id, query))


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
        scope.id
        for scope in await stores.client_scopes.list_values(after.realm_id)
        if scope.name in added
    ]
    reached = await stores.role_scopes.reached(after.realm_id, None, ids)
    await require_may_put_in_scope(acting, stores, sorted(reached))


def _scope_names(client: Client) -> frozenset[str]:
    return frozenset((*client.default_client_scopes, *client.optional_client_scopes))


async def load_client_document(acting: Acting, stores: Stores, client: Client) -> dict[str, Any]:
    """Return the client as the caller may see it."""
    masked = bool(await clients_out_of_reach(acting, stores, [client]))
    return client_document(acting, client, masked=masked)


def client_document(acting: Acting, client: Client, *, masked: bool) -> dict[str, Any]:
    """Return the client with the caller's rights over it."""
    return {**client_representation(client, masked=masked), "access": _access(acting, client)}


def _access(acting: Acting, client: Client) -> Mapping[str, bool]:
    manages = acting.rights.has(*MANAGE_CLIENTS)
    changeable = manages and not is_administrative_client(acting.realm, client.client_id)
    return {"view": True, "configure": changeable, "manage": changeable}


MOST: Final = 10_000
"""How many clients one answer may hold."""
_MOST_ATTRIBUTES: Final = 10
_INSTALLATIONS: Final = {kind.id: kind for kind in INSTALLATIONS}
_ALL: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ClientQuery:
    """One client by its public name, or a page of the matching clients."""

    client_id: str | None = None
    part: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    first: int = 0
    maximum: int | None = None


class ClientListing(Administration):
    """Reads clients for administrators. All methods raise StoreUnavailable."""

    async def list_clients(self, acting: Acting, query: ClientQuery) -> list[dict[str, Any]]:
        """Return the clients that match; raises TooMany.

        A caller who may only query clients gets none: each requires the right to view it.
        """
        if not acting.rights.has(*VIEW_CLIENTS):
            return []
        if len(query.attributes) > _MOST_ATTRIBUTES:
            raise TooMany(f"More than {_MOST_ATTRIBUTES} attributes in q")
        async with self._database.read() as stores:
            found = await _matching(stores, acting.realm.id, query)
            if len(found) > MOST:
                raise TooMany(f"More than {MOST} clients: ask page by page, with first and max")
            masked = await clients_out_of_reach(acting, stores, found)
            return [
                client_document(acting, client, masked=client.id in masked)
                async for client in in_slices(found)
            ]

    async def clients(self, realm: Realm, part: str) -> tuple[Client, ...]:
        """Return all clients whose public names contain `part` as values, by name."""
        async with self._database.read() as stores:
            return await stores.clients.search_clients(realm.id, ClientSearch(part), 0, _ALL)

    async def get_client_document(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Return the client; raises NotFound, and Forbidden for a caller who may only query."""
        async with self._database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
            acting.rights.require_role(*VIEW_CLIENTS)
            with refused_by_policies():
                await enforce_policies(
                    *(stores, acting.realm, PolicyCaller(acting), EventKind.VIEW, client),
                    before=client,
                )
            return await load_client_document(acting, stores, client)

    async def get_service_account(self, realm: Realm, client_id: str) -> dict[str, Any]:
        """Return the user; raises NotFound, and InvalidRequest where there is none."""
        async with self._database.read() as stores:
            client = await get_client(stores, realm.id, client_id)
            account = await stores.users.find_service_account(realm.id, client.id)
        if account is None or not client.service_accounts_enabled:
            text = f"Service account not enabled for the client '{client.client_id}'"
            raise InvalidRequest(text, WireFamily.PROSE)
        return full_user(account, totp=False)

    async def render_installation(self, acting: Acting, client_id: str, kind: str, url: str) -> str:
        """Return a configuration file of an adapter; raises NotFound.

        A secret that the caller may not know is masked.
        """
        async with self._database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
            found = existing(_INSTALLATIONS.get(kind), "Unknown Provider")
            masked = bool(await clients_out_of_reach(acting, stores, [client]))
            roles = await has_roles(stores, client)
        return found.write(Installation(acting.realm, client, url, has_roles=roles, masked=masked))


async def _matching(stores: Stores, realm_id: str, query: ClientQuery) -> Sequence[Client]:
    if query.client_id is not None:
        client = await stores.clients.find_by_client_id(realm_id, query.client_id)
        return [] if client is None else [client]
    wanted = MOST + 1 if query.maximum is None else min(query.maximum, MOST + 1)
    search = ClientSearch(query.part, query.attributes)
    return await stores.clients.search_clients(realm_id, search, query.first, wanted)
