"""Roles of a realm and of its clients, and the users and groups that have them.

Keycloak: 7.3 (roles, roles-by-id, roles of clients, composites), 7.2 users, 7.3 (role-mappings,
`available`, `composite`; users and groups of a role); RoleRepresentation (`composites`)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    AdminRole,
    ListingPage,
    existing,
    get_user,
    load_roles,
    require_changeable_role,
    require_may_compose,
    require_may_grant,
    roles_out_of_reach,
)
from gateway.admin.changes import Administration, Change
from gateway.admin.groups import VIEW_GROUPS, GroupShape, get_group, shown_groups
from gateway.admin.users import VIEW_USERS, invalidate_user, shown_users
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.users import HolderKind, RoleHolder, RoleQuery, Share
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, MissingPart, NotFound, WireFamily
from gateway.domain.roles import ListedRole, Role
from gateway.representations.roles import (
    RoleName,
    RoleReference,
    mappings_answer,
    parse_role,
    parse_role_references,
    role_answer,
)


async def read_references(document: Sequence[Any]) -> tuple[RoleReference, ...]:
    """Return the roles that a list names, each once; raises UnknownField and InvalidInput."""
    named = [reference async for reference in in_slices(parse_role_references(document))]
    return tuple(dict.fromkeys(named))


class RoleListing:
    """Reads the roles of one realm. All methods raise StoreUnavailable."""

    def __init__(self, stores: Stores, realm: Realm) -> None:
        self._stores = stores
        self._realm = realm

    async def documents(self, query: RoleQuery, *, brief: bool = True) -> list[dict[str, Any]]:
        found = await self._stores.role_catalogue.list_roles(self._realm.id, query)
        return [role_answer(role, brief=brief) for role in found]

    async def mappings(self, holder: RoleHolder) -> dict[str, Any]:
        """Return the roles granted to the holder directly, by realm and client."""
        found = await self._stores.role_catalogue.list_roles(self._realm.id, RoleQuery(holder))
        return mappings_answer(found)

    async def named(
        self, references: Sequence[RoleReference], container: str
    ) -> tuple[ListedRole, ...]:
        """Return roles of one container by id and name; raises NotFound.

        `container` is the internal id of a client, or "" for the realm.
        """
        found = await self.identified(references, "Role not found")
        for role, reference in zip(found, references, strict=True):
            if role.role.name != reference.name or (role.role.client or "") != container:
                raise NotFound("Role not found")
        return found

    async def identified(
        self, references: Sequence[RoleReference], missing: str
    ) -> tuple[ListedRole, ...]:
        """Return roles by id; raises NotFound with the text `missing`."""
        ids = list(dict.fromkeys(reference.id for reference in references))
        known = await self._stores.role_catalogue.by_ids(self._realm.id, ids)
        if len(known) < len(ids):
            raise NotFound(missing)
        return tuple(known[reference.id] for reference in references)


async def composites_of(
    stores: Stores, realm: Realm, names: Iterable[RoleName]
) -> tuple[ListedRole, ...]:
    """Return the roles; raises MissingPart for a missing role.

    Roles of clients that do not exist are ignored, as in Keycloak.
    """
    wanted = tuple(names)
    public = sorted({name.client for name in wanted if name.client is not None})
    clients = {
        client.client_id: client.id for client in await stores.clients.named(realm.id, public)
    }
    found: list[ListedRole] = []
    for name in wanted:
        if name.client is not None and name.client not in clients:
            continue
        owner = None if name.client is None else clients[name.client]
        role = await stores.role_catalogue.find_by_name(realm.id, owner, name.name)
        if role is None:
            kind = "Realm" if name.client is None else "Client"
            raise MissingPart(f"{kind} Role with name {name.name} does not exist")
        found.append(role)
    return tuple(found)


VIEW_REALM_ROLES: Final = (AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM)
MANAGE_REALM_ROLES: Final = (AdminRole.MANAGE_REALM,)
VIEW_CLIENT_ROLES: Final = (AdminRole.VIEW_CLIENTS, AdminRole.MANAGE_CLIENTS)
MANAGE_CLIENT_ROLES: Final = (AdminRole.MANAGE_CLIENTS,)
_COMPOSITES: Final = "composites"


@dataclass(frozen=True, slots=True)
class RoleAddress:
    """How a URL names a role: by its id, or by its name in the realm or in a client.

    `client` is the internal id of the client.
    """

    name: str = ""
    client: str | None = None
    id: str | None = None

    @property
    def path(self) -> str:
        """The path below the realm, for events."""
        if self.id is not None:
            return f"roles-by-id/{self.id}"
        return f"{roles_path(self.client)}/{self.name}"


async def get_viewable_role(stores: Stores, acting: Acting, address: RoleAddress) -> ListedRole:
    """Return the role at an address, which the caller may view; raises NotFound and Forbidden."""
    found = await _get_role(stores, acting.realm, address)
    of_realm = found.role.client is None
    acting.rights.require_role(*(VIEW_REALM_ROLES if of_realm else VIEW_CLIENT_ROLES))
    return found


async def require_client(
    stores: Stores, realm: Realm, client: str | None, missing: str = "Could not find client"
) -> str | None:
    """Return the public name of a client by its internal id, None for None; raises NotFound."""
    if client is None:
        return None
    return existing(await stores.clients.find_by_id(realm.id, client), missing).client_id


def roles_path(client: str | None) -> str:
    """Return the path of the roles of the realm, or of a client, below the realm."""
    return "roles" if client is None else f"clients/{client}/roles"


async def _get_role(
    stores: Stores, realm: Realm, address: RoleAddress, *, alone: bool = False
) -> ListedRole:
    if address.id is not None:
        role = await stores.role_catalogue.find_role(realm.id, address.id, for_update=alone)
        return existing(role, "Could not find role with id")
    await require_client(stores, realm, address.client)
    role = await stores.role_catalogue.find_by_name(
        realm.id, address.client, address.name, for_update=alone
    )
    return existing(role, "Could not find role")


def _role_type(role: Role) -> ResourceType:
    return ResourceType.REALM_ROLE if role.client is None else ResourceType.CLIENT_ROLE


def _is_default(realm: Realm, role: Role) -> bool:
    return role.client is None and role.name == realm.default_role_name


_FIRST_PAGE: Final = ListingPage()


_OWNERS: Final = {
    HolderKind.USER: ("users", "role-mappings"),
    HolderKind.GROUP: ("groups", "role-mappings"),
    HolderKind.CLIENT: ("clients", "scope-mappings"),
    HolderKind.CLIENT_SCOPE: ("client-scopes", "scope-mappings"),
}
"""How URLs name the holders of roles, and their roles."""


@dataclass(frozen=True, slots=True)
class MappedRoles:
    """Roles of the realm, or of the client with internal id `client`, as one holder has them."""

    holder: RoleHolder
    client: str | None = None

    @property
    def container(self) -> str:
        """The client, or "" for the realm, as queries name it."""
        return self.client or ""

    @property
    def path(self) -> str:
        """The path below the realm, for events."""
        owners, mappings = _OWNERS[self.holder.kind]
        container = "realm" if self.client is None else f"clients/{self.client}"
        return f"{owners}/{self.holder.id}/{mappings}/{container}"


class RoleAdministration(Administration):
    """The use cases. All raise NotFound, StoreUnavailable, and Forbidden."""

    async def list_roles(
        self, realm: Realm, query: RoleQuery, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return the roles of the realm, or of the client that `query.container` names."""
        async with self._database.read() as stores:
            await require_client(stores, realm, query.container or None)
            return await RoleListing(stores, realm).documents(query, brief=brief)

    async def get_role(self, acting: Acting, address: RoleAddress) -> dict[str, Any]:
        async with self._database.read() as stores:
            role = await get_viewable_role(stores, acting, address)
            return role_answer(role, brief=False)

    async def create_role(
        self, acting: Acting, client: str | None, document: Mapping[str, Any]
    ) -> str:
        """Add a role and return its name; raises AlreadyExists, and MissingPart for composites."""
        given = parse_role(document)
        if given is None:
            raise InvalidRequest("role has no name", WireFamily.PROSE)
        async with self._changes.begin(acting) as change:
            stores, realm = change.stores, change.realm
            owner = await require_client(stores, realm, client)
            require_changeable_role(acting, owner, given.name)
            role = Role(
                id=str(uuid4()),
                realm_id=realm.id,
                name=given.name,
                description=given.description,
                client=client,
                attributes=given.attributes or {},
            )
            await stores.roles.add(role)
            parts = await composites_of(stores, realm, given.composites)
            await require_may_compose(acting, stores, parts)
            await stores.roles.add_composites(realm.id, role.id, [part.role.id for part in parts])
            path = f"{roles_path(client)}/{role.name}"
            change.record(OperationType.CREATE, _role_type(role), path, {"id": role.id, **document})
        return role.name

    async def replace_role(
        self, acting: Acting, address: RoleAddress, document: Mapping[str, Any]
    ) -> None:
        """Replace name and description, and the attributes if they are given.

        Raises AlreadyExists and PreconditionFailed.
        """
        given = parse_role(document)
        async with self._changes.begin(acting, alone=True) as change:
            found = await self._changeable(change, address)
            if given is None:
                raise InvalidRequest("role has no name", WireFamily.PROSE)
            role = replace(
                found.role,
                name=given.name,
                description=given.description,
                attributes=found.role.attributes if given.attributes is None else given.attributes,
            )
            await change.stores.role_catalogue.replace(role)
            default = _is_default(change.realm, found.role)
            if default or role.name != found.role.name:
                change.invalidate(realm_topic(change.realm.id))
            if role.name != found.role.name and default:
                realm = replace(change.realm, default_role=role.name)
                await change.replace_realm(realm)
            change.record(OperationType.UPDATE, _role_type(role), address.path, document)

    async def remove_role(self, acting: Acting, address: RoleAddress) -> None:
        """Remove a role with its grants; raises InvalidRequest for the default role."""
        async with self._changes.begin(acting) as change:
            role = (await self._changeable(change, address)).role
            if _is_default(change.realm, role):
                raise InvalidRequest(
                    f"{role.name} is default role of the realm and cannot be removed."
                )
            await change.stores.role_catalogue.remove_role(change.realm.id, role.id)
            change.invalidate(realm_topic(change.realm.id))
            document = None if address.id is not None else {"id": role.id, "name": role.name}
            change.record(OperationType.DELETE, _role_type(role), address.path, document)

    async def list_composites(
        self, acting: Acting, address: RoleAddress, query: RoleQuery
    ) -> list[dict[str, Any]]:
        """Return the roles that a role contains directly and `query` selects."""
        async with self._database.read() as stores:
            role = (await get_viewable_role(stores, acting, address)).role
            await require_client(stores, acting.realm, query.container or None)
            holder = RoleHolder(HolderKind.COMPOSITE, role.id)
            listing = RoleListing(stores, acting.realm)
            return await listing.documents(replace(query, holder=holder))

    async def change_composites(
        self, acting: Acting, address: RoleAddress, document: Sequence[Any], *, add: bool
    ) -> None:
        """Add or remove composites of a role, by their ids."""
        references = await read_references(document)
        async with self._changes.begin(acting) as change:
            stores, realm = change.stores, change.realm
            role = (await self._changeable(change, address)).role
            listing = RoleListing(stores, realm)
            parts = await listing.identified(references, "Could not find composite role")
            await require_may_compose(acting, stores, parts)
            holder = RoleHolder(HolderKind.COMPOSITE, role.id)
            write = stores.role_catalogue.grant_roles if add else stores.role_catalogue.revoke_roles
            await write(realm.id, holder, [part.role.id for part in parts])
            change.invalidate(realm_topic(realm.id))
            operation = OperationType.CREATE if add else OperationType.DELETE
            path = f"{address.path}/{_COMPOSITES}"
            change.record(operation, _role_type(role), path, list(document))

    async def _changeable(self, change: Change, address: RoleAddress) -> ListedRole:
        """Return the role with its row locked; raises Forbidden."""
        found = await _get_role(change.stores, change.realm, address, alone=True)
        of_realm = found.role.client is None
        change.acting.rights.require_role(
            *(MANAGE_REALM_ROLES if of_realm else MANAGE_CLIENT_ROLES)
        )
        require_changeable_role(change.acting, found.client_id, found.role.name)
        change.require_match(role_answer, found, brief=False)
        return found

    async def list_mappings(self, acting: Acting, holder: RoleHolder) -> dict[str, Any]:
        """Return the viewable roles that are granted to the holder directly."""
        async with self._database.read() as stores:
            await _require_holder(stores, acting.realm, holder)
            found = await stores.role_catalogue.list_roles(acting.realm.id, RoleQuery(holder))
        return mappings_answer(role for role in found if _may_view(acting, role.role))

    async def list_mapped_roles(
        self, acting: Acting, mapping: MappedRoles, share: Share, *, brief: bool = True
    ) -> list[dict[str, Any]]:
        """Return a share of the roles; of the missing roles only the grantable ones.

        A caller that may not manage users may grant none, as in Keycloak (26.7).
        """
        async with self._database.read() as stores:
            await _require_both(stores, acting.realm, mapping)
            if share is Share.MISSING and not acting.rights.has(AdminRole.MANAGE_USERS):
                return []
            query = RoleQuery(mapping.holder, share, container=mapping.container)
            found = await stores.role_catalogue.list_roles(acting.realm.id, query)
            hidden = await roles_out_of_reach(acting, stores) if share is Share.MISSING else ()
            return [role_answer(role, brief=brief) for role in found if role.role.id not in hidden]

    async def add_mapped_roles(
        self, acting: Acting, mapping: MappedRoles, document: Sequence[Any]
    ) -> None:
        """Grant roles by id and name; raises Forbidden for rights beyond the caller's."""
        references = await read_references(document)
        async with self._changes.begin(acting) as change:
            await _require_both(change.stores, change.realm, mapping)
            listing = RoleListing(change.stores, change.realm)
            named = await listing.named(references, mapping.container)
            roles = [listed.role for listed in named]
            await _store_mapping(change, OperationType.CREATE, mapping, roles, list(document))

    async def remove_mapped_roles(
        self, acting: Acting, mapping: MappedRoles, document: Sequence[Any] | None
    ) -> None:
        """Revoke roles, all of the mapping for None; raises Forbidden."""
        references = await read_references(document or ())
        async with self._changes.begin(acting) as change:
            await _require_both(change.stores, change.realm, mapping)
            named = await RoleListing(change.stores, change.realm).named(
                references, mapping.container
            )
            if document is None:
                query = RoleQuery(mapping.holder, container=mapping.container)
                named = await change.stores.role_catalogue.list_roles(change.realm.id, query)
            sent = [role_answer(role) for role in named] if document is None else list(document)
            roles = [listed.role for listed in named]
            await _store_mapping(change, OperationType.DELETE, mapping, roles, sent)

    async def change_mapped_roles(
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
                    await _store_mapping(change, operation, MappedRoles(holder, client), own, sent)

    async def list_users_with_role(
        self, acting: Acting, address: RoleAddress, page: ListingPage = _FIRST_PAGE, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return the users with the role; a caller that may only query users sees none."""
        async with self._database.read() as stores:
            role = (await get_viewable_role(stores, acting, address)).role
            if not acting.rights.has(*VIEW_USERS):
                return []
            realm = acting.realm
            found = await stores.role_catalogue.users(realm.id, role.id, page.first, page.limit)
            shown = await shown_users(stores, realm, found, brief=brief)
            access = {"manage": acting.rights.has(AdminRole.MANAGE_USERS)}
            return [{**user, "access": access} for user in shown]

    async def list_groups_with_role(
        self, acting: Acting, address: RoleAddress, page: ListingPage = _FIRST_PAGE, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return the groups with the role; a caller that may only query groups sees none."""
        async with self._database.read() as stores:
            role = (await get_viewable_role(stores, acting, address)).role
            if not acting.rights.has(*VIEW_GROUPS):
                return []
            realm, catalogue = acting.realm, stores.group_catalogue
            found = await catalogue.having_role(realm.id, role.id, page.first, page.limit)
            shape = GroupShape(brief=brief, counts=False, access=False)
            return await shown_groups(stores, realm, acting.rights, found, shape)


def _may_view(acting: Acting, role: Role) -> bool:
    return acting.rights.has(*(VIEW_REALM_ROLES if role.client is None else VIEW_CLIENT_ROLES))


async def _store_mapping(
    change: Change,
    operation: OperationType,
    mapping: MappedRoles,
    roles: Sequence[Role],
    document: Sequence[Any],
) -> None:
    ids = [role.id for role in roles]
    await require_may_grant(change.acting, change.stores, ids)
    catalogue = change.stores.role_catalogue
    store = catalogue.grant_roles if operation is OperationType.CREATE else catalogue.revoke_roles
    await store(change.realm.id, mapping.holder, ids)
    await _invalidate(change, mapping.holder)
    change.record(operation, _mapping_type(mapping), mapping.path, document)


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


def _mapping_type(mapping: MappedRoles) -> ResourceType:
    of_realm = mapping.client is None
    return ResourceType.REALM_ROLE_MAPPING if of_realm else ResourceType.CLIENT_ROLE_MAPPING
