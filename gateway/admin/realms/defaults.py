"""What every realm has from its creation: clients, roles, scopes, its administration in `master`.

Missing resources are added, also to realms of earlier versions; a role that an administrator
removed from a composite stays removed. Keycloak: 8.6 (what creating a realm creates), 9 (the roles)
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final

from gateway.admin.access import (
    ADMIN,
    CONTAINED,
    CREATE_REALM,
    REALM_ADMIN,
    REALM_MANAGEMENT,
    AdminRole,
    RoleIndex,
    administration_client,
    default_role,
    load_roles,
)
from gateway.admin.client_reach import store_built_in_client
from gateway.admin.client_scope_defaults import default_client_scopes, ensure_client_scopes
from gateway.admin.client_scopes import chosen_from
from gateway.admin.clients import (
    ACCOUNT,
    ACCOUNT_CONSOLE,
    BROKER,
    administration_holder,
    default_clients,
)
from gateway.domain.errors import AlreadyExists
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.ports.users import HolderKind, RoleHolder
from gateway.domain.realm import MASTER, Realm
from gateway.domain.roles import Role
from gateway.representations.clients import parse_client
from gateway.representations.roles import RoleInput, RoleName

_OFFLINE = RoleName("offline_access")
_AUTHORIZATION = RoleName("uma_authorization")
_ACCOUNT_ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "delete-account": (),
    "manage-account": ("manage-account-links",),
    "manage-account-links": (),
    "manage-consent": ("view-consent",),
    "view-applications": (),
    "view-consent": (),
    "view-groups": (),
    "view-profile": (),
}
_ROLES_OF_USERS: Final = ("manage-account", "view-profile")
_ROLES_OF_THE_CONSOLE: Final = ("manage-account", "view-groups")


async def ensure_realm_defaults(
    stores: Stores, realm: Realm, given: Iterable[RoleInput] = ()
) -> RoleIndex:
    """Add missing clients, roles and client scopes, and the roles of a file; return all roles."""
    added = await _add_clients(stores, realm, default_clients(realm))
    administered = await stores.realms.list_realms() if realm.name == MASTER else ()
    over_realms = await _add_clients(stores, realm, map(_administration, administered))
    roles = await load_roles(stores, realm)
    roles.changed = bool(added)
    brought = tuple(given)
    known = roles.role_names | {role.role for role in brought}
    await roles.add_roles(
        (*brought, *_missing((*_roles(realm), *_over_realms(over_realms)), known))
    )
    await roles.describe_roles(brought)
    if ACCOUNT_CONSOLE in added:
        await _put_in_scope(stores, realm, roles)
    (offline,) = roles.ids([_OFFLINE], "roles")
    roles.changed |= await ensure_client_scopes(stores, realm.id, offline)
    return roles


async def ensure_administration(stores: Stores, realm: Realm) -> Realm | None:
    """Give the administrators in `master` the rights over the realm; return `master` if changed.

    A realm `master` that is created later gets the rights over all realms then.
    """
    master = await stores.realms.find_by_name(MASTER)
    if master is None or realm.name == MASTER:
        return None
    name = administration_client(realm.name)
    if await stores.clients.find_by_client_id(master.id, name) is not None:
        return None
    admin = await stores.roles.find_realm_role(master.id, ADMIN)
    if admin is None:
        await ensure_realm_defaults(stores, master)
    else:
        await _add_rights(stores, master, realm, admin)
    return master


async def _add_rights(stores: Stores, master: Realm, realm: Realm, admin: Role) -> None:
    """Give the administrators the rights over one new realm."""
    client = parse_client(_administration(realm), master.id)
    await store_built_in_client(stores, client)
    index = RoleIndex(stores, master, {client.client_id: client.id})
    await index.add_roles(_admin_roles(client.client_id))
    every = (RoleName(role, client.client_id) for role in AdminRole)
    await stores.roles.add_composites(master.id, admin.id, index.ids(every, "roles"))


async def ensure_defaults(database: Database) -> tuple[Realm, ...]:
    """Add the defaults that realms of earlier versions lack; return the changed realms."""
    async with database.read() as stores:
        if not await _incomplete(stores):
            return ()
    try:
        return await _complete(database)
    except AlreadyExists:
        # Another gateway that starts now has added them: read again.
        return await _complete(database)


async def _complete(database: Database) -> tuple[Realm, ...]:
    async with database.write() as stores:
        realms = await _incomplete(stores)
        for realm in realms:
            await ensure_realm_defaults(stores, realm)
        for realm in realms:
            await ensure_administration(stores, realm)
        return realms


async def _incomplete(stores: Stores) -> tuple[Realm, ...]:
    """Return the realms that lack something, in a few queries each: every start runs them."""
    realms = await stores.realms.list_realms()
    return tuple([realm for realm in realms if await _is_incomplete(stores, realm, realms)])


async def _is_incomplete(stores: Stores, realm: Realm, realms: Iterable[Realm]) -> bool:
    wanted = {document["clientId"] for document in default_clients(realm)}
    if realm.name == MASTER:
        wanted |= {administration_client(other.name) for other in realms}
    found = await stores.clients.named(realm.id, sorted(wanted))
    return len(found) < len(wanted) or not await stores.client_scopes.list_values(realm.id)


async def _put_in_scope(stores: Stores, realm: Realm, roles: RoleIndex) -> None:
    """Put the roles of the account console into the scope of its tokens."""
    console = await stores.clients.find_by_client_id(realm.id, ACCOUNT_CONSOLE)
    if console is not None:
        names = [RoleName(name, ACCOUNT) for name in _ROLES_OF_THE_CONSOLE]
        known = [name for name in names if name in roles.role_names]
        holder = RoleHolder(HolderKind.CLIENT, console.id)
        await stores.role_catalogue.grant_roles(realm.id, holder, roles.ids(known, "roles"))


async def _add_clients(
    stores: Stores, realm: Realm, documents: Iterable[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Add the clients that are missing; return their names."""
    added = []
    scopes = await stores.client_scopes.list_values(realm.id) or default_client_scopes(realm.id)
    for document in documents:
        if await stores.clients.find_by_client_id(realm.id, document["clientId"]) is None:
            client = chosen_from(scopes, parse_client(document, realm.id))
            await store_built_in_client(stores, client)
            added.append(document["clientId"])
    return tuple(added)


def _administration(realm: Realm) -> dict[str, Any]:
    return administration_holder(administration_client(realm.name), f"{realm.name} Realm")


def _roles(realm: Realm) -> Iterator[RoleInput]:
    of_users = (RoleName(name, ACCOUNT) for name in _ROLES_OF_USERS)
    contained = (_OFFLINE, _AUTHORIZATION, *of_users)
    yield RoleInput(default_role(realm), "${role_default-roles}", contained, "")
    yield RoleInput(_OFFLINE, "${role_offline-access}", (), "")
    yield RoleInput(_AUTHORIZATION, "${role_uma_authorization}", (), "")
    for name, parts in _ACCOUNT_ROLES.items():
        yield _client_role(ACCOUNT, name, parts)
    yield _client_role(BROKER, "read-token", ())
    if realm.name == MASTER:
        yield RoleInput(RoleName(CREATE_REALM), "${role_create-realm}", (), "")
        yield RoleInput(RoleName(ADMIN), "${role_admin}", (RoleName(CREATE_REALM),), "")
    else:
        yield from _admin_roles(REALM_MANAGEMENT)
        yield _client_role(REALM_MANAGEMENT, REALM_ADMIN, AdminRole)


def _over_realms(clients: tuple[str, ...]) -> Iterator[RoleInput]:
    for client in clients:
        yield from _admin_roles(client)
    everything = tuple(RoleName(role, client) for client in clients for role in AdminRole)
    if clients:
        yield RoleInput(RoleName(ADMIN), "${role_admin}", everything, "")


def _admin_roles(client: str) -> Iterator[RoleInput]:
    for role in AdminRole:
        yield _client_role(client, role, CONTAINED.get(role, ()))


def _client_role(client: str, name: str, parts: Iterable[str]) -> RoleInput:
    contained = tuple(RoleName(part, client) for part in parts)
    return RoleInput(RoleName(name, client), f"${{role_{name}}}", contained, "")


def _missing(roles: Iterable[RoleInput], known: Container[RoleName]) -> Iterator[RoleInput]:
    """Yield the roles to add: a contained role only where it or the composite is new."""
    return (
        RoleInput(
            role.role,
            role.description,
            tuple(p for p in role.composites if role.role not in known or p not in known),
            role.path,
        )
        for role in roles
    )
