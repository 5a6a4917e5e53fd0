"""Who may do what to which realm: the one rule in front of every administrative endpoint.

Rights over a realm come from the realm `master`, by its client `<realm>-realm`, or from the realm
itself, by its client `realm-management`; a token of any other realm gives none. They are the roles
stored now, so a revoked role counts at once, limited to the scope of the token: the admin API takes
them from memory once every committed change is invalidated there.
Keycloak: 9 (administrative roles); console/whoami, serverinfo
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from gateway.admin.access.role_index import ADMIN, CREATE_REALM
from gateway.domain.callers import Caller
from gateway.domain.clients import OWNER_IN_MASTER, OWNER_OF_A_REALM
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER, Realm
from gateway.domain.refusals import Forbidden, NotAuthenticated, WrongClient
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User

REALM_MANAGEMENT: Final = OWNER_OF_A_REALM
"""The client of a realm that holds the roles over it."""
REALM_ADMIN: Final = "realm-admin"
"""The role of `realm-management` that contains all the others."""


class AdminRole(StrEnum):
    """A right over one realm."""

    CREATE_CLIENT = "create-client"
    IMPERSONATION = "impersonation"
    MANAGE_AUTHORIZATION = "manage-authorization"
    MANAGE_CLIENTS = "manage-clients"
    MANAGE_EVENTS = "manage-events"
    MANAGE_IDENTITY_PROVIDERS = "manage-identity-providers"
    MANAGE_ORGANIZATIONS = "manage-organizations"
    MANAGE_REALM = "manage-realm"
    MANAGE_USERS = "manage-users"
    QUERY_CLIENTS = "query-clients"
    QUERY_GROUPS = "query-groups"
    QUERY_ORGANIZATIONS = "query-organizations"
    QUERY_REALMS = "query-realms"
    QUERY_USERS = "query-users"
    VIEW_AUTHORIZATION = "view-authorization"
    VIEW_CLIENTS = "view-clients"
    VIEW_EVENTS = "view-events"
    VIEW_IDENTITY_PROVIDERS = "view-identity-providers"
    VIEW_ORGANIZATIONS = "view-organizations"
    VIEW_REALM = "view-realm"
    VIEW_USERS = "view-users"


CONTAINED: Final[Mapping[AdminRole, tuple[AdminRole, ...]]] = {
    AdminRole.VIEW_CLIENTS: (AdminRole.QUERY_CLIENTS,),
    AdminRole.VIEW_ORGANIZATIONS: (AdminRole.QUERY_ORGANIZATIONS,),
    AdminRole.VIEW_USERS: (AdminRole.QUERY_USERS, AdminRole.QUERY_GROUPS),
}
"""The right to view all objects of a kind contains the right to query them."""

FREE: Final = frozenset(role for role in AdminRole if role.startswith("query-"))
"""Roles that show nothing by themselves: any caller that may grant roles may grant them."""

IMPLIED: Final[Mapping[AdminRole, tuple[AdminRole, ...]]] = {
    AdminRole.MANAGE_AUTHORIZATION: (AdminRole.VIEW_AUTHORIZATION,),
    AdminRole.MANAGE_CLIENTS: (
        AdminRole.CREATE_CLIENT,
        AdminRole.MANAGE_AUTHORIZATION,
        AdminRole.VIEW_AUTHORIZATION,
        AdminRole.VIEW_CLIENTS,
    ),
    AdminRole.MANAGE_EVENTS: (AdminRole.VIEW_EVENTS,),
    AdminRole.MANAGE_IDENTITY_PROVIDERS: (AdminRole.VIEW_IDENTITY_PROVIDERS,),
    AdminRole.MANAGE_ORGANIZATIONS: (AdminRole.VIEW_ORGANIZATIONS,),
    AdminRole.MANAGE_REALM: (
        AdminRole.MANAGE_ORGANIZATIONS,
        AdminRole.VIEW_ORGANIZATIONS,
        AdminRole.VIEW_REALM,
    ),
    AdminRole.MANAGE_USERS: (AdminRole.VIEW_USERS,),
    AdminRole.VIEW_CLIENTS: (AdminRole.VIEW_AUTHORIZATION,),
}
"""A caller with the first role may grant the others, since it has their rights already.

As Keycloak 26.7 answers: this is less than `CONTAINED`, and not the same.
"""


def administration_client(realm_name: str) -> str:
    """Return the client of `master` that holds the roles over a realm."""
    return f"{realm_name}{OWNER_IN_MASTER}"


class ObjectKind(StrEnum):
    """A kind of object that carries administrative rights."""

    USER = "user"
    CLIENT = "client"
    """Carries the rights of its service account."""
    GROUP = "group"
    """Carries the rights that it gives to its members."""
    ROLE = "role"


@dataclass(frozen=True, slots=True)
class ControlledObject:
    """An object that a request controls, by its internal id.

    A role may be addressed by its name: `client` is then the internal id of the client that owns
    it, or None for a role of the realm.
    """

    kind: ObjectKind
    id: str
    by_name: bool = False
    client: str | None = None


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a caller over one realm.

    `held` are all roles that the caller acts with in its own realm; None for the local operator,
    who may do everything.
    """

    roles: frozenset[AdminRole]
    held: EffectiveRoles | None = field(default_factory=EffectiveRoles)

    def has(self, *sufficient: AdminRole) -> bool:
        return not self.roles.isdisjoint(sufficient)

    def require_role(self, *sufficient: AdminRole) -> None:
        """Raise Forbidden unless the caller has one of the roles."""
        if self.roles.isdisjoint(sufficient):
            raise Forbidden(f"none of the roles {', '.join(sufficient)}")


_ROLES: Final = {role.value: role for role in AdminRole}
_EVERYTHING: Final = Rights(frozenset(AdminRole), held=None)


@dataclass(frozen=True, slots=True)
class Acting:
    """Who acts on `realm`, with which rights, from which address.

    `caller` is None for the local operator. `if_match` is the header of that name. `controls`
    are the objects that the request changes: the caller must have all their administrative rights.
    """

    caller: Caller | None
    realm: Realm
    rights: Rights
    address: str | None = None
    if_match: str | None = None
    controls: tuple[ControlledObject, ...] = ()


def operator(realm: Realm) -> Acting:
    """Return the local operator on a realm, who may do everything."""
    return Acting(None, realm, _EVERYTHING)


def rights_of(caller: Caller, realm: Realm) -> Rights:
    """Return the rights over `realm` of a caller whose roles are known."""
    return rights_over(caller, realm, caller.within_token(caller.held))


def rights_over(caller: Caller, realm: Realm, held: EffectiveRoles) -> Rights:
    """Return the rights over `realm` of a caller with these roles in its own realm."""
    client = _holder(caller, realm)
    if client is None:
        return Rights(frozenset())
    names = next((names for owner, names in held.clients if owner == client), ())
    return Rights(frozenset(_ROLES[name] for name in names if name in _ROLES), held)


def _holder(caller: Caller, realm: Realm) -> str | None:
    """Return the client of the caller's realm that holds the roles over `realm`."""
    if caller.realm.name == MASTER:
        return administration_client(realm.name)
    return REALM_MANAGEMENT if caller.realm.id == realm.id else None


def may_create_realms(acting: Acting) -> bool:
    """Return whether the caller has `create-realm` in the realm `master`."""
    if acting.caller is None:
        return True
    held = acting.rights.held
    in_master = acting.caller.realm.name == MASTER
    return in_master and held is not None and CREATE_REALM in held.realm


_CONSOLE: Final = "security-admin-console"


class AdminAccess:
    """Resolves rights by the roles that the database holds now."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rights(self, caller: Caller, realm: Realm) -> Rights:
        if _holder(caller, realm) is None:
            return Rights(frozenset())
        return rights_over(caller, realm, await self.held(caller))

    async def held(self, caller: Caller) -> EffectiveRoles:
        """Return the roles that the caller acts with in its own realm."""
        async with self._database.read() as stores:
            held = await stores.roles.effective(caller.realm.id, caller.user.id)
        return caller.within_token(held)

    async def describe_caller(self, acting: Acting, current: str | None) -> dict[str, Any]:
        """Return the caller with its rights over its own realm, and over the one named `current`.

        Only a caller of `master` has rights over another realm. Raises NotAuthenticated for a
        caller of another realm than that of the URL, WrongClient for a token that was not issued
        for the admin console.
        """
        caller = acting.caller
        if caller is None or caller.realm.id != acting.realm.id:
            raise NotAuthenticated("the token is one of another realm")
        if caller.client.client_id != _CONSOLE:
            text = "Token issued for an application that is not the admin console"
            raise WrongClient(f"{text}: {caller.client.client_id}")
        access = {caller.realm.name: sorted(acting.rights.roles)}
        if caller.realm.name == MASTER and current not in {None, MASTER}:
            access |= await self._access_to(caller, str(current))
        return {
            "userId": caller.user.id,
            "realm": caller.realm.name,
            "displayName": _display_name(caller.user),
            "locale": caller.realm.localization.default_locale or "en",
            "temporary": False,
            "createRealm": may_create_realms(acting),
            "realm_access": access,
        }

    async def _access_to(self, caller: Caller, name: str) -> dict[str, list[AdminRole]]:
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(name)
        if realm is None:
            return {}
        rights = await self.rights(caller, realm)
        return {realm.name: sorted(rights.roles)}


def require_administrator(acting: Acting) -> None:
    """Raise Forbidden for a caller without an administrative role over any realm."""
    held, caller = acting.rights.held, acting.caller
    if caller is None or acting.rights.roles:
        return
    if held is None or not _administers(held, in_master=caller.realm.name == MASTER):
        raise Forbidden("no administrative role over any realm")


def administers_the_server(acting: Acting) -> bool:
    """Return whether the caller may see facts of the machine: every caller of `master` may."""
    return acting.caller is None or acting.caller.realm.name == MASTER


def _administers(held: EffectiveRoles, *, in_master: bool) -> bool:
    if not in_master:
        return any(client == REALM_MANAGEMENT and names for client, names in held.clients)
    if {ADMIN, CREATE_REALM} & {*held.realm}:
        return True
    roles = {*AdminRole}
    return any(client.endswith("-realm") and roles & {*names} for client, names in held.clients)


def _display_name(user: User) -> str:
    parts = [part for part in (user.first_name, user.last_name) if part]
    return " ".join(parts) or user.username
