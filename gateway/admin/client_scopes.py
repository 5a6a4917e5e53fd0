"""Client scopes of a realm, its lists of them, and the choice of those of a new client.

Clients have their scopes by name: renaming or removing one changes them in the same transaction.
A new client gets the scopes that it names and the realm has, or the realm's own lists.
Keycloak: 7.3 (client-scopes), 7.1 (default-default-client-scopes, default-optional-client-scopes);
POST clients
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import Acting, AdminRole, existing
from gateway.admin.changes import Administration, Change
from gateway.admin.client_reach import lower_reach_of_scope, store_changed_part
from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.clients import Client
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, duplicate_resource
from gateway.representations.client_scopes import (
    SCOPE_PROTOCOLS,
    changes_reach_of_clients,
    is_scope_name,
    parse_client_scope,
    render_client_scope,
    render_reference,
)
from gateway.representations.clients import InheritedScopes
from gateway.representations.refusals import mistyped
from gateway.representations.shapes import VerbatimList, text_of_scalar

VIEW_CLIENTS: Final = (AdminRole.VIEW_CLIENTS, AdminRole.MANAGE_CLIENTS)
LIST_CLIENTS: Final = (*VIEW_CLIENTS, AdminRole.QUERY_CLIENTS)
MANAGE_CLIENTS: Final = (AdminRole.MANAGE_CLIENTS,)
_LISTS: Final = {
    RealmDefault.DEFAULT: "default-default-client-scopes",
    RealmDefault.OPTIONAL: "default-optional-client-scopes",
}


class ClientScopeAdministration(Administration):
    """The use cases. All raise NotFound and StoreUnavailable."""

    async def list_scopes(self, acting: Acting) -> list[dict[str, Any]]:
        """Return the scopes by name; none to a caller who may only query."""
        if not acting.rights.has(*VIEW_CLIENTS):
            return []
        async with self._database.read() as stores:
            scopes = await stores.client_scopes.list_values(acting.realm.id)
        return [render_client_scope(scope) for scope in scopes]

    async def get_scope(self, acting: Acting, scope_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            return render_client_scope(await get_client_scope(stores, acting.realm, scope_id))

    async def create_scope(self, acting: Acting, document: Mapping[str, Any]) -> str:
        _validate_scope({"protocol": None, "name": None, **document})
        async with self._changes.begin(acting, alone=True) as change:
            scope = parse_client_scope(document, change.realm.id)
            await change.stores.client_scopes.add(change.realm.id, scope)
            await lower_reach_of_scope(change, scope.name)
            _record_change(change, OperationType.CREATE, _path(scope), document)
        return scope.id

    async def replace_scope(
        self, acting: Acting, scope_id: str, document: Mapping[str, Any]
    ) -> None:
        _validate_scope(
            {
                name: value
                for name, value in document.items()
                if name != "protocol" or value is not None
            }
        )
        for name in _MAPPERS & document.keys():
            if document[name] is not None:
                VerbatimList().read(document[name], name)
        sent = {name: value for name, value in document.items() if name not in _MAPPERS}
        async with self._changes.begin(acting, alone=True) as change:
            before = await get_client_scope(change.stores, change.realm, scope_id)
            change.require_match(render_client_scope, before)
            scope = parse_client_scope(sent, change.realm.id, base=before)
            if changes_reach_of_clients(before, scope):
                await lower_reach_of_scope(change, before.name, scope.name)
            if scope != before:
                await change.stores.client_scopes.put_value(change.realm.id, scope)
            if scope.name != before.name:
                await _rename_in_clients(change, before, scope.name)
            _record_change(change, OperationType.UPDATE, _path(scope), document)

    async def remove_scope(self, acting: Acting, scope_id: str) -> None:
        """Remove a scope, also from clients; raises InvalidRequest for the last one."""
        async with self._changes.begin(acting, alone=True) as change:
            stores, realm = change.stores, change.realm
            scope = await get_client_scope(stores, realm, scope_id)
            change.require_match(render_client_scope, scope)
            if len(await stores.client_scopes.list_values(realm.id)) == 1:
                raise InvalidRequest("You are not allowed to delete all the client scopes.")
            await stores.client_scopes.remove_value(realm.id, scope.id)
            await _rename_in_clients(change, scope, None)
            _record_change(change, OperationType.DELETE, _path(scope))

    async def list_realm_scopes(
        self, realm: Realm, listed: RealmDefault
    ) -> Sequence[dict[str, Any]]:
        async with self._database.read() as stores:
            scopes = await stores.client_scopes.list_values(realm.id)
        return [render_reference(scope) for scope in scopes if scope.realm_default is listed]

    async def add_to_list(self, acting: Acting, scope_id: str, listed: RealmDefault) -> None:
        """Add a scope to a list; raises InvalidRequest where it is in one already."""
        async with self._changes.begin(acting, alone=True) as change:
            scope = await get_client_scope(change.stores, change.realm, scope_id, _NOT_LISTED)
            if scope.realm_default is not None:
                raise duplicate_resource()
            await change.stores.client_scopes.put_value(
                change.realm.id, replace(scope, realm_default=listed)
            )
            _record_change(change, OperationType.CREATE, f"{_LISTS[listed]}/{scope.id}")

    async def remove_from_list(self, acting: Acting, scope_id: str, listed: RealmDefault) -> None:
        """Remove a scope from either list, as Keycloak does."""
        async with self._changes.begin(acting, alone=True) as change:
            scope = await get_client_scope(change.stores, change.realm, scope_id, _NOT_LISTED)
            if scope.realm_default is not None:
                await change.stores.client_scopes.put_value(
                    change.realm.id, replace(scope, realm_default=None)
                )
            _record_change(change, OperationType.DELETE, f"{_LISTS[listed]}/{scope.id}")


_MAPPERS: Final = frozenset({"protocolMappers", "protocol_mappers"})
_NOT_FOUND: Final = "Could not find client scope"
_NOT_LISTED: Final = "Client scope not found"


async def get_client_scope(
    stores: Stores, realm: Realm, scope_id: str, missing: str = _NOT_FOUND
) -> ClientScope:
    """Return the scope with that id; raises NotFound with the text `missing`."""
    return existing(await stores.client_scopes.find_value(realm.id, scope_id), missing)


def _validate_scope(document: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a name or a protocol that Keycloak refuses."""
    name = document.get("name")
    if isinstance(name, dict | list):
        raise mistyped("name", name, "text")
    if "name" in document and not is_scope_name(text_of_scalar(name)):
        shown = "null" if name is None else name
        raise InvalidRequest(f'Unexpected name "{shown}" for ClientScope')
    if "protocol" in document and document["protocol"] not in SCOPE_PROTOCOLS:
        raise InvalidRequest("Unexpected protocol")


async def _rename_in_clients(change: Change, scope: ClientScope, name: str | None) -> None:
    """Rename or, with None, remove the scope in the clients that have it."""
    stores = change.stores
    for one in await stores.clients.list_clients(scope.realm_id):
        if with_scope_renamed(one, scope.name, name) == one:
            continue
        client = await stores.clients.get_for_update(scope.realm_id, one.id)
        if client is not None:
            after = with_scope_renamed(client, scope.name, name)
            await store_changed_part(stores, change.acting, client, after)


def with_scope_renamed(client: Client, before: str, after: str | None) -> Client:
    """Return the client with a scope under its new name; None removes it."""

    def lists(names: tuple[str, ...]) -> tuple[str, ...]:
        renamed = (after if name == before else name for name in names)
        return tuple(name for name in renamed if name is not None)

    return replace(
        client,
        default_client_scopes=lists(client.default_client_scopes),
        optional_client_scopes=lists(client.optional_client_scopes),
    )


def _path(scope: ClientScope) -> str:
    return f"client-scopes/{scope.id}"


def _record_change(
    change: Change, operation: OperationType, path: str, representation: object = None
) -> None:
    change.record(operation, ResourceType.CLIENT_SCOPE, path, representation)
    change.invalidate(realm_topic(change.realm.id))


def inherited_from(scopes: Iterable[ClientScope]) -> InheritedScopes:
    """Return the client scopes that the realm gives to clients that name none."""
    listed = [(scope.name, scope.realm_default) for scope in scopes]
    default, optional = (
        tuple(name for name, kind in listed if kind is wanted)
        for wanted in (RealmDefault.DEFAULT, RealmDefault.OPTIONAL)
    )
    return InheritedScopes(default, optional)


class ScopeChoice:
    """Limits the scopes of a client to the client scopes of the realm."""

    def __init__(self, scopes: Iterable[ClientScope]) -> None:
        self._names: dict[str, set[str]] = defaultdict(set)
        for scope in scopes:
            self._names[scope.protocol].add(scope.name)

    def choose_scopes(self, client: Client) -> Client:
        """Return the client without scopes that the realm lacks for its protocol."""
        known = self._names[client.protocol]
        default = tuple(name for name in client.default_client_scopes if name in known)
        return replace(
            client,
            default_client_scopes=default,
            optional_client_scopes=tuple(
                name
                for name in client.optional_client_scopes
                if name in known and name not in default
            ),
        )


async def chosen_scopes(stores: Stores, client: Client) -> Client:
    """Return the client without scopes that the realm lacks for its protocol."""
    return chosen_from(await stores.client_scopes.list_values(client.realm_id), client)


def chosen_from(scopes: Iterable[ClientScope], client: Client) -> Client:
    """Return the client without scopes that are not among these, or of another protocol."""
    return ScopeChoice(scopes).choose_scopes(client)
