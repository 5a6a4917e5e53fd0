"""The roles of users and groups, and the users and groups of a role.

Keycloak: 7.2, 7.3 (role-mappings, `available`, `composite`; users and groups of a role)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    AdminRole,
    Page,
    get_user,
    load_roles,
    require_may_grant,
    roles_out_of_reach,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.groups import VIEW_GROUPS, GroupShape, get_group, shown_groups
from gateway.admin.roles.administration import (
    VIEW_CLIENT_ROLES,
    VIEW_REALM_ROLES,
    RoleAddress,
    require_client,
    viewed,
)
from gateway.admin.roles.listing import RoleListing, read_references
from gateway.admin.users import VIEW_USERS, invalidate_user, shown_users
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.ports.storage.role_catalogue import HolderKind, RoleHolder, RoleQuery, Share
from gateway.domain.realm import Realm
from gateway.domain.roles import Role
from gateway.representations.roles import RoleName, mappings_answer, role_answer

_FIRST_PAGE: Final = Page()


@dataclass(frozen=True, slots=True)
class MappedRoles:
    """Roles of the realm, or of the client with internal id `client`, as one holder has them."""

    holder: RoleHolder
    client: str | None = None

    @property
    def path(self) -> str:
        """The path below the realm, for events."""
        owner = "users" if self.holder.kind is HolderKind.USER else "groups"
        container = "realm" if self.client is None else f"clients/{self.client}"
        return f"{owner}/{self.holder.id}/role-mappings/{container}"


class RoleMapping:
    """The use cases. All raise NotFound and StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def everything(self, acting: Acting, holder: RoleHolder) -> dict[str, Any]:
        """Return the roles granted to the holder directly, of those that the caller may view."""
        async with self._database.read() as stores:
            await _require_holder(stores, acting.realm, holder)
            found = await stores.role_catalogue.list(acting.realm.id, RoleQuery(holder))
        return mappings_answer(role for role in found if _may_view(acting, role.role))

    async def share(
        self, acting: Acting, mapping: MappedRoles, share: Share, *, brief: bool = True
    ) -> list[dict[str, Any]]:
        """Return a share of the roles; of the missing ones those that the caller may grant.

        A caller that may not manage users may grant none, as in Keycloak (26.7).
        """
        async with self._database.read() as stores:
            await _require_both(stores, acting.realm, mapping)
            if share is Share.MISSING and not acting.rights.has(AdminRole.MANAGE_USERS):
                return []
            query = RoleQuery(mapping.holder, share, container=mapping.client or "")
            found = await stores.role_catalogue.list(acting.realm.id, query)
            hidden = await roles_out_of_reach(acting, stores) if share is Share.MISSING else ()
            return [role_answer(role, brief=brief) for role in found if role.role.id not in hidden]

    async def give(self, acting: Acting, mapping: MappedRoles, document: Sequence[Any]) -> None:
        """Grant roles by id and name; raises Forbidden for rights beyond the caller's."""
        references = await read_references(document)
        async with self._changes.begin(acting) as change:
            await _require_both(change.stores, change.realm, mapping)
            listing = RoleListing(change.stores, change.realm)
            named = await listing.named(references, mapping.client or "")
            roles = [listed.role for listed in named]
            await _store(change, OperationType.CREATE, mapping, roles, list(document))

    async def take(
        self, acting: Acting, mapping: MappedRoles, document: Sequence[Any] | None
    ) -> None:
        """Revoke roles, all of the mapping for None; raises Forbidden."""
        references = await read_references(document or ())
        async with self._changes.begin(acting) as change:
            await _require_both(change.stores, change.realm, mapping)
            named = await RoleListing(change.stores, change.realm).named(
                references, mapping.client or ""
            )
            if document is None:
                query = RoleQuery(mapping.holder, container=mapping.client or "")
                named = await change.stores.role_catalogue.list(change.realm.id, query)
            sent = [role_answer(role) for role in named] if document is None else list(document)
            roles = [listed.role for listed in named]
            await _store(change, OperationType.DELETE, mapping, roles, sent)

    async def change_by_name(
        self,
        acting: Acting,
        holder: RoleHolder,
        *,
        add: Sequence[RoleName],
        remove: Sequence[RoleName],
    ) -> None:
        """Grant and revoke roles of any container in one transaction.

        Raises Forbidden, and InvalidInput naming the roles that do not exist.
        """
        async with self._changes.begin(acting) as change:
            await _require_holder(change.stores, change.realm, holder)
            index = await load_roles(change.stores, change.realm)
            for operation, names, at in (
                (OperationType.CREATE, add, "add"),
                (OperationType.DELETE, remove, "remove"),
            ):
                roles = index.named(names, at)
                for client in dict.fromkeys(role.client for role in roles):
                    own = [role for role in roles if role.client == client]
                    sent = [{"id": role.id, "name": role.name} for role in own]
                    await _store(change, operation, MappedRoles(holder, client), own, sent)


def _may_view(acting: Acting, role: Role) -> bool:
    return acting.rights.has(*(VIEW_REALM_ROLES if role.client is None else VIEW_CLIENT_ROLES))


async def _store(
    change: Change,
    operation: OperationType,
    mapping: MappedRoles,
    roles: Sequence[Role],
    document: Sequence[Any],
) -> None:
    ids = [role.id for role in roles]
    await require_may_grant(change.acting, change.stores, ids)
    catalogue = change.stores.role_catalogue
    store = catalogue.give if operation is OperationType.CREATE else catalogue.take
    await store(change.realm.id, mapping.holder, ids)
    await _invalidate(change, mapping.holder)
    change.record(operation, _kind(mapping), mapping.path, document)


async def _require_both(stores: Stores, realm: Realm, mapping: MappedRoles) -> None:
    await _require_holder(stores, realm, mapping.holder)
    await require_client(stores, realm, mapping.client, "Client not found")


async def _require_holder(stores: Stores, realm: Realm, holder: RoleHolder) -> None:
    if holder.kind is HolderKind.USER:
        await get_user(stores, realm.id, holder.id)
    else:
        await get_group(stores, realm, holder.id)


async def _invalidate(change: Change, holder: RoleHolder) -> None:
    realm_id = change.realm.id
    if holder.kind is not HolderKind.USER:
        change.invalidate(realm_topic(realm_id))
        return
    invalidate_user(change, await get_user(change.stores, realm_id, holder.id))


def _kind(mapping: MappedRoles) -> ResourceType:
    of_realm = mapping.client is None
    return ResourceType.REALM_ROLE_MAPPING if of_realm else ResourceType.CLIENT_ROLE_MAPPING


class RoleMembers:
    """Reads the holders of a role; a caller that may only query users or groups sees none.

    All methods raise NotFound, Forbidden, TooMany and StoreUnavailable.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def users(
        self, acting: Acting, address: RoleAddress, page: Page = _FIRST_PAGE, *, brief: bool
    ) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            role = (await viewed(stores, acting, address)).role
            if not acting.rights.has(*VIEW_USERS):
                return []
            realm = acting.realm
            found = await stores.role_catalogue.users(realm.id, role.id, page.first, page.limit)
            shown = await shown_users(stores, realm, found, brief=brief)
            access = {"manage": acting.rights.has(AdminRole.MANAGE_USERS)}
            return [{**user, "access": access} for user in shown]

    async def groups(
        self, acting: Acting, address: RoleAddress, page: Page = _FIRST_PAGE, *, brief: bool
    ) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            role = (await viewed(stores, acting, address)).role
            if not acting.rights.has(*VIEW_GROUPS):
                return []
            realm, catalogue = acting.realm, stores.group_catalogue
            found = await catalogue.having_role(realm.id, role.id, page.first, page.limit)
            shape = GroupShape(brief=brief, counts=False, access=False)
            return await shown_groups(stores, realm, acting.rights, found, shape)
