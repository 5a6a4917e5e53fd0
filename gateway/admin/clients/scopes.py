"""The client scopes of one client, and the roles in the scope of a client or of a client scope.

Tokens of a client without full scope carry no other roles; a client scope with roles is only for
users who have one of them. Adding a realm role to a scope requires the right to manage the realm.
Keycloak: 7.3 (default-client-scopes, optional-client-scopes, scope-mappings)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import Acting, AdminRole, is_above, require_may_put_in_scope
from gateway.admin.changes import Administration, Change
from gateway.admin.client_reach import lower_reach, lower_reach_of_scope, store_changed_part
from gateway.admin.client_scope_evaluation import in_scope
from gateway.admin.client_scopes import get_client_scope, with_scope_renamed
from gateway.admin.clients.listing import get_client, get_client_for_update, require_may_widen_scope
from gateway.admin.roles import MappedRoles, RoleListing, read_references
from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.clients import Client
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic, realm_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.users import HolderKind, RoleHolder, RoleQuery, Share
from gateway.domain.realm import Realm
from gateway.domain.refusals import NotFound
from gateway.domain.roles import ListedRole
from gateway.representations.client_scopes import render_reference
from gateway.representations.roles import role_answer

_LISTS: Final = {
    RealmDefault.DEFAULT: "default-client-scopes",
    RealmDefault.OPTIONAL: "optional-client-scopes",
}
_NO_SUCH_SCOPE: Final = "Client scope not found"


def _assigned_names(client: Client, listed: RealmDefault) -> tuple[str, ...]:
    of_default = listed is RealmDefault.DEFAULT
    return client.default_client_scopes if of_default else client.optional_client_scopes


def _with_scope(client: Client, listed: RealmDefault, scope: ClientScope) -> Client:
    names = (*_assigned_names(client, listed), scope.name)
    if listed is RealmDefault.DEFAULT:
        return replace(client, default_client_scopes=names)
    return replace(client, optional_client_scopes=names)


def _assignment_path(client: Client, listed: RealmDefault) -> str:
    return f"clients/{client.id}/{_LISTS[listed]}"


def _record_assignment(change: Change, operation: OperationType, path: str, client: Client) -> None:
    change.record(operation, ResourceType.CLIENT_SCOPE_CLIENT_MAPPING, path)
    change.invalidate(client_topic(change.realm.id, client.id))


_NO_ROLE: Final = "Role not found"


class ScopeAdministration(Administration):
    """The use cases. All raise NotFound and StoreUnavailable."""

    async def list_mappings(self, acting: Acting, owner: RoleHolder) -> dict[str, Any]:
        async with self._database.read() as stores:
            await _require_container(stores, acting.realm, MappedRoles(owner))
            return await RoleListing(stores, acting.realm).mappings(owner)

    async def list_mapped_roles(
        self, acting: Acting, mapping: MappedRoles, share: Share, *, brief: bool = True
    ) -> list[dict[str, Any]]:
        """Return the roles in the scope, those to be added by the caller, or the effective ones.

        Effective are the roles that tokens may carry: all of them where the scope is full.
        """
        realm, owner, container = acting.realm, mapping.holder, mapping.container
        async with self._database.read() as stores:
            client = await _require_container(stores, realm, mapping)
            found: Sequence[ListedRole]
            if share is Share.EFFECTIVE:
                scopes = () if client is not None else (owner.id,)
                found = await in_scope(stores, realm, client, scopes, container)
            elif share is Share.MISSING and (
                container == owner.id or not _may_map(acting, mapping)
            ):
                found = ()
            else:
                query = RoleQuery(owner, share, container)
                found = await stores.role_catalogue.list_roles(realm.id, query)
        return [role_answer(role, brief=brief) for role in found]

    async def add_mapped_roles(
        self, acting: Acting, mapping: MappedRoles, document: Sequence[Any]
    ) -> None:
        async with self._changes.begin(acting) as change:
            roles = await _get_roles(change, mapping, document)
            ids = [role.role.id for role in roles]
            await require_may_put_in_scope(acting, change.stores, ids)
            await _lower_reach(change, mapping.holder, ids)
            await change.stores.role_catalogue.grant_roles(change.realm.id, mapping.holder, ids)
            _record_mapping(change, OperationType.CREATE, mapping, document)

    async def remove_mapped_roles(
        self, acting: Acting, mapping: MappedRoles, document: Sequence[Any] | None
    ) -> None:
        """Remove roles from the scope; None removes all of the container."""
        async with self._changes.begin(acting) as change:
            stores, realm, owner = change.stores, change.realm, mapping.holder
            if document is None:
                await _require_container(stores, realm, mapping)
                query = RoleQuery(owner, Share.DIRECT, mapping.container)
                listed = await stores.role_catalogue.list_roles(realm.id, query)
                roles = listed if _may_map(acting, mapping) else ()
            else:
                roles = await _get_roles(change, mapping, document)
            await stores.role_catalogue.revoke_roles(
                realm.id, owner, [role.role.id for role in roles]
            )
            taken = document if document is not None else [role_answer(role) for role in roles]
            _record_mapping(change, OperationType.DELETE, mapping, taken)

    async def list_assigned_scopes(
        self, realm: Realm, client: str, listed: RealmDefault
    ) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            found = await get_client(stores, realm.id, client)
            names = _assigned_names(found, listed)
            scopes = await stores.client_scopes.list_values(realm.id)
        return [
            render_reference(scope, protocol=False)
            for scope in scopes
            if scope.name in names and scope.protocol == found.protocol
        ]

    async def assign_scope(
        self, acting: Acting, client: str, scope_id: str, listed: RealmDefault
    ) -> None:
        """Add a scope to a list of a client that has it in neither; otherwise nothing changes.

        Raises Forbidden where the roles of the scope are beyond the caller's own scope.
        """
        async with self._changes.begin(acting, alone=True) as change:
            found = await get_client_for_update(change.stores, change.realm.id, client)
            scope = await get_client_scope(change.stores, change.realm, scope_id, _NO_SUCH_SCOPE)
            held = {*found.default_client_scopes, *found.optional_client_scopes}
            if scope.name not in held and scope.protocol == found.protocol:
                after = _with_scope(found, listed, scope)
                await require_may_widen_scope(acting, change.stores, found, after)
                await store_changed_part(change.stores, acting, found, after)
            _record_assignment(
                change, OperationType.CREATE, f"{_assignment_path(found, listed)}/{scope.id}", found
            )

    async def unassign_scope(
        self, acting: Acting, client: str, scope_id: str, listed: RealmDefault
    ) -> None:
        """Remove a scope from either list of the client, as Keycloak does."""
        async with self._changes.begin(acting, alone=True) as change:
            found = await get_client_for_update(change.stores, change.realm.id, client)
            scope = await get_client_scope(change.stores, change.realm, scope_id, _NO_SUCH_SCOPE)
            after = with_scope_renamed(found, scope.name, None)
            if after != found:
                await store_changed_part(change.stores, acting, found, after)
            _record_assignment(
                change, OperationType.DELETE, f"{_assignment_path(found, listed)}/{scope.id}", found
            )


async def _require_container(stores: Stores, realm: Realm, mapping: MappedRoles) -> Client | None:
    """Return the client whose scope it is, None of a client scope; raises NotFound."""
    client, owner = None, mapping.holder
    if owner.kind is HolderKind.CLIENT:
        client = await get_client(stores, realm.id, owner.id)
    else:
        await get_client_scope(stores, realm, owner.id)
    if mapping.client is not None:
        await get_client(stores, realm.id, mapping.client)
    return client


async def _get_roles(
    change: Change, mapping: MappedRoles, document: Sequence[Any]
) -> tuple[ListedRole, ...]:
    """Return the roles with the ids in `document`; raises NotFound, and Forbidden."""
    await _require_container(change.stores, change.realm, mapping)
    references = await read_references(document)
    listing = RoleListing(change.stores, change.realm)
    roles = await listing.identified(references, _NO_ROLE)
    owners = {role.role.client for role in roles}
    if mapping.client is not None and not owners <= {mapping.client}:
        raise NotFound(_NO_ROLE)
    if None in owners:
        change.acting.rights.require_role(AdminRole.MANAGE_REALM)
    return roles


async def _lower_reach(change: Change, owner: RoleHolder, role_ids: Sequence[str]) -> None:
    """Lower the reach of the clients whose tokens would carry roles that the caller lacks.

    Raises MissingRights where a built-in client is among them.
    """
    roles = await change.stores.roles.expanded(change.realm.id, role_ids)
    if not is_above(change.acting, roles):
        return
    if owner.kind is HolderKind.CLIENT:
        await lower_reach(change, owner.id)
    else:
        scope = await get_client_scope(change.stores, change.realm, owner.id)
        await lower_reach_of_scope(change, scope.name)


def _may_map(acting: Acting, mapping: MappedRoles) -> bool:
    of_realm = mapping.client is None
    return acting.rights.has(AdminRole.MANAGE_REALM if of_realm else AdminRole.MANAGE_CLIENTS)


def _record_mapping(
    change: Change, operation: OperationType, mapping: MappedRoles, representation: object
) -> None:
    of_realm, realm_id, owner = mapping.client is None, change.realm.id, mapping.holder
    resource = ResourceType.REALM_SCOPE_MAPPING if of_realm else ResourceType.CLIENT_SCOPE_MAPPING
    change.record(operation, resource, mapping.path, representation)
    of_client = owner.kind is HolderKind.CLIENT
    change.invalidate(client_topic(realm_id, owner.id) if of_client else realm_topic(realm_id))
