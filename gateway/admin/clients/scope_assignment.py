"""The client scopes of one client: those it always gets, and those it may ask for.

Keycloak: 7.3 (default-client-scopes, optional-client-scopes)
"""

from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.client_reach import store_changed_part
from gateway.admin.client_scopes import get_client_scope, with_scope_renamed
from gateway.admin.clients.access import get_client, get_client_for_update, require_may_widen_scope
from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.clients import Client
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.client_scopes import render_reference

_LISTS: Final = {
    RealmDefault.DEFAULT: "default-client-scopes",
    RealmDefault.OPTIONAL: "optional-client-scopes",
}
_MISSING: Final = "Client scope not found"


class ClientScopeAssignment:
    """The use cases. All raise NotFound and StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def all(self, realm: Realm, client: str, listed: RealmDefault) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            found = await get_client(stores, realm.id, client)
            names = _names(found, listed)
            scopes = await stores.client_scopes.list(realm.id)
        return [
            render_reference(scope, protocol=False)
            for scope in scopes
            if scope.name in names and scope.protocol == found.protocol
        ]

    async def give(self, acting: Acting, client: str, listed: RealmDefault, scope_id: str) -> None:
        """Add a scope to a list of a client that has it in neither; otherwise nothing changes.

        Raises Forbidden where the roles of the scope are beyond the caller's own scope.
        """
        async with self._changes.begin(acting, alone=True) as change:
            found = await get_client_for_update(change.stores, change.realm.id, client)
            scope = await get_client_scope(change.stores, change.realm, scope_id, _MISSING)
            held = {*found.default_client_scopes, *found.optional_client_scopes}
            if scope.name not in held and scope.protocol == found.protocol:
                after = _with(found, listed, scope)
                await require_may_widen_scope(acting, change.stores, found, after)
                await store_changed_part(change.stores, acting, found, after)
            _note(change, OperationType.CREATE, f"{_path(found, listed)}/{scope.id}", found)

    async def take(self, acting: Acting, client: str, listed: RealmDefault, scope_id: str) -> None:
        """Remove a scope from either list of the client, as Keycloak does."""
        async with self._changes.begin(acting, alone=True) as change:
            found = await get_client_for_update(change.stores, change.realm.id, client)
            scope = await get_client_scope(change.stores, change.realm, scope_id, _MISSING)
            after = with_scope_renamed(found, scope.name, None)
            if after != found:
                await store_changed_part(change.stores, acting, found, after)
            _note(change, OperationType.DELETE, f"{_path(found, listed)}/{scope.id}", found)


def _names(client: Client, listed: RealmDefault) -> tuple[str, ...]:
    of_default = listed is RealmDefault.DEFAULT
    return client.default_client_scopes if of_default else client.optional_client_scopes


def _with(client: Client, listed: RealmDefault, scope: ClientScope) -> Client:
    names = (*_names(client, listed), scope.name)
    if listed is RealmDefault.DEFAULT:
        return replace(client, default_client_scopes=names)
    return replace(client, optional_client_scopes=names)


def _path(client: Client, listed: RealmDefault) -> str:
    return f"clients/{client.id}/{_LISTS[listed]}"


def _note(change: Change, operation: OperationType, path: str, client: Client) -> None:
    change.record(operation, ResourceType.CLIENT_SCOPE_CLIENT_MAPPING, path)
    change.invalidate(client_topic(change.realm.id, client.id))
