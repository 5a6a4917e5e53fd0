"""Roles of a realm and of its clients.

Keycloak: 7.3 (roles, roles-by-id, roles of clients, composites)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from gateway.admin.access import (
    Acting,
    AdminRole,
    InvalidRequest,
    WireFamily,
    existing,
    require_changeable_role,
    require_may_compose,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.roles.listing import RoleListing, composites_of, read_references
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.ports.storage.role_catalogue import HolderKind, RoleHolder, RoleQuery
from gateway.domain.realm import Realm
from gateway.domain.roles import ListedRole, Role
from gateway.representations.roles import parse_role, role_answer

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


class RoleAdministration:
    """The use cases. All raise NotFound, StoreUnavailable, and Forbidden."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def page(self, realm: Realm, query: RoleQuery, *, brief: bool) -> list[dict[str, Any]]:
        """Return the roles of the realm, or of the client that `query.container` names."""
        async with self._database.read() as stores:
            await require_client(stores, realm, query.container or None)
            return await RoleListing(stores, realm).documents(query, brief=brief)

    async def one(self, acting: Acting, address: RoleAddress) -> dict[str, Any]:
        async with self._database.read() as stores:
            role = await viewed(stores, acting, address)
            return role_answer(role, brief=False)

    async def create(self, acting: Acting, client: str | None, document: Mapping[str, Any]) -> str:
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
            change.record(OperationType.CREATE, _kind(role), path, {"id": role.id, **document})
        return role.name

    async def update(
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
            change.record(OperationType.UPDATE, _kind(role), address.path, document)

    async def remove(self, acting: Acting, address: RoleAddress) -> None:
        """Remove a role with its grants; raises InvalidRequest for the default role."""
        async with self._changes.begin(acting) as change:
            role = (await self._changeable(change, address)).role
            if _is_default(change.realm, role):
                raise InvalidRequest(
                    f"{role.name} is default role of the realm and cannot be removed."
                )
            await change.stores.role_catalogue.remove(change.realm.id, role.id)
            change.invalidate(realm_topic(change.realm.id))
            document = None if address.id is not None else {"id": role.id, "name": role.name}
            change.record(OperationType.DELETE, _kind(role), address.path, document)

    async def composites(
        self, acting: Acting, address: RoleAddress, query: RoleQuery
    ) -> list[dict[str, Any]]:
        """Return the roles that a role contains directly and `query` selects."""
        async with self._database.read() as stores:
            role = (await viewed(stores, acting, address)).role
            await require_client(stores, acting.realm, query.container or None)
            holder = RoleHolder(HolderKind.COMPOSITE, role.id)
            listing = RoleListing(stores, acting.realm)
            return await listing.documents(replace(query, holder=holder))

    async def compose(
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
            write = stores.role_catalogue.give if add else stores.role_catalogue.take
            await write(realm.id, holder, [part.role.id for part in parts])
            change.invalidate(realm_topic(realm.id))
            operation = OperationType.CREATE if add else OperationType.DELETE
            path = f"{address.path}/{_COMPOSITES}"
            change.record(operation, _kind(role), path, list(document))

    async def _changeable(self, change: Change, address: RoleAddress) -> ListedRole:
        """Return the role with its row locked; raises Forbidden."""
        found = await _find(change.stores, change.realm, address, alone=True)
        of_realm = found.role.client is None
        change.acting.rights.require(*(MANAGE_REALM_ROLES if of_realm else MANAGE_CLIENT_ROLES))
        require_changeable_role(change.acting, found.client_id, found.role.name)
        change.require_match(role_answer, found, brief=False)
        return found


async def viewed(stores: Stores, acting: Acting, address: RoleAddress) -> ListedRole:
    """Return the role at an address, which the caller may view; raises NotFound and Forbidden."""
    found = await _find(stores, acting.realm, address)
    of_realm = found.role.client is None
    acting.rights.require(*(VIEW_REALM_ROLES if of_realm else VIEW_CLIENT_ROLES))
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


async def _find(
    stores: Stores, realm: Realm, address: RoleAddress, *, alone: bool = False
) -> ListedRole:
    if address.id is not None:
        role = await stores.role_catalogue.find(realm.id, address.id, for_update=alone)
        return existing(role, "Could not find role with id")
    await require_client(stores, realm, address.client)
    role = await stores.role_catalogue.find_by_name(
        realm.id, address.client, address.name, for_update=alone
    )
    return existing(role, "Could not find role")


def _kind(role: Role) -> ResourceType:
    return ResourceType.REALM_ROLE if role.client is None else ResourceType.CLIENT_ROLE


def _is_default(realm: Realm, role: Role) -> bool:
    return role.client is None and role.name == realm.default_role_name
