"""Who may do what to which realm: the one rule in front of every administrative endpoint.

Rights over a realm come from the realm `master`, by its client `<realm>-realm`, or from the realm
itself, by `realm-management`; a token of any other realm gives none. They are the roles stored now,
so a revoked role counts at once, limited to the scope of the token: the admin API takes them from
memory once every committed change is invalidated there. Keycloak: 9
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from gateway.admin.access.administration_roles import (
    REALM_MANAGEMENT,
    AdminRole,
    administration_client,
)
from gateway.admin.access.errors import Forbidden
from gateway.admin.access.role_index import CREATE_REALM
from gateway.domain.clients import Client, WithheldRoles
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER, Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User


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
class Caller:
    """A user, or a service account, of `realm`, with a token of `client`.

    `scope` are the roles that such a token may carry, None if unlimited; those in `withheld` it may
    not. `held` are the roles that the user has in its realm; the caller acts with the others.
    """

    realm: Realm
    user: User
    client: Client
    scope: EffectiveRoles | None = None
    held: EffectiveRoles = field(default_factory=EffectiveRoles)
    withheld: WithheldRoles | None = None

    def within_token(self, held: EffectiveRoles) -> EffectiveRoles:
        """Return those of the user's roles that the caller acts with."""
        roles = held if self.withheld is None else self.withheld.remove_from(held)
        return roles.within(self.scope)


@dataclass(frozen=True, slots=True)
class Rights:
    """What a caller may do to one realm.

    `held` are all roles that the caller acts with in its own realm; None for the local operator,
    who may do everything.
    """

    roles: frozenset[AdminRole]
    held: EffectiveRoles | None = field(default_factory=EffectiveRoles)

    def has(self, *sufficient: AdminRole) -> bool:
        return not self.roles.isdisjoint(sufficient)

    def require(self, *sufficient: AdminRole) -> None:
        """Raise Forbidden unless the caller has one of the roles."""
        if not self.has(*sufficient):
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


def rights_of(caller: Caller, realm: Realm) -> Rights:
    """Return what a caller whose roles are known may do to `realm`."""
    return rights_over(caller, realm, caller.within_token(caller.held))


def rights_over(caller: Caller, realm: Realm, held: EffectiveRoles) -> Rights:
    """Return what a caller with these roles in its own realm may do to `realm`."""
    client = _holder(caller, realm)
    if client is None:
        return Rights(frozenset())
    names = _names(held, client)
    return Rights(frozenset(_ROLES[name] for name in names if name in _ROLES), held)


def _holder(caller: Caller, realm: Realm) -> str | None:
    """Return the client of the caller's realm that holds the roles over `realm`."""
    if caller.realm.name == MASTER:
        return administration_client(realm.name)
    return REALM_MANAGEMENT if caller.realm.id == realm.id else None


def _names(held: EffectiveRoles, client: str) -> tuple[str, ...]:
    return next((names for name, names in held.clients if name == client), ())


def may_create_realms(acting: Acting) -> bool:
    """Return whether the caller has `create-realm` in the realm `master`."""
    if acting.caller is None:
        return True
    held = acting.rights.held
    in_master = acting.caller.realm.name == MASTER
    return in_master and held is not None and CREATE_REALM in held.realm
