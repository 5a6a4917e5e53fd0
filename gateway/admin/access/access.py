"""Who may do what to which realm: the one rule in front of every administrative endpoint.

Rights over a realm come from the realm `master`, by its client `<realm>-realm`, or from the realm
itself, by `realm-management`; any other realm's token brings none. They are what the caller holds
now, so that a role taken away is gone at once, and of that what is in the scope of its token.
Keycloak: 9
"""

from dataclasses import dataclass, field
from typing import Final

from gateway.admin.access.administration_roles import (
    REALM_MANAGEMENT,
    AdminRole,
    administration_client,
)
from gateway.admin.access.controlled_objects import ControlledObject
from gateway.admin.access.errors import Forbidden
from gateway.admin.access.role_index import CREATE_REALM
from gateway.domain.clients import Client
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER, Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a user, or a service account, of `realm`, by a token of `client`.

    `scope` are the roles that such a token may carry, None where that is not limited.
    """

    realm: Realm
    user: User
    client: Client
    scope: EffectiveRoles | None = None


@dataclass(frozen=True, slots=True)
class Rights:
    """What a caller may do to one realm.

    `held` are all roles that the caller acts with in its own realm; None at a shell, where
    nothing is forbidden.
    """

    roles: frozenset[AdminRole]
    held: EffectiveRoles | None = field(default_factory=EffectiveRoles)

    def has(self, *sufficient: AdminRole) -> bool:
        """Tell whether the caller has one of the roles."""
        return not self.roles.isdisjoint(sufficient)

    def require(self, *sufficient: AdminRole) -> None:
        """Raise Forbidden unless the caller has one of the roles."""
        if not self.has(*sufficient):
            raise Forbidden(f"none of the roles {', '.join(sufficient)}")


_EVERYTHING: Final = Rights(frozenset(AdminRole), held=None)


@dataclass(frozen=True, slots=True)
class Acting:
    """On whose behalf something is done to `realm`: by whom, with which rights, from where.

    `caller` is None for an operator at a shell. `if_match` is the header of that name. `controls`
    are the objects that the request changes: the caller must have all their administrative rights.
    """

    caller: Caller | None
    realm: Realm
    rights: Rights
    address: str | None = None
    if_match: str | None = None
    controls: tuple[ControlledObject, ...] = ()


def operator(realm: Realm) -> Acting:
    """Return the local operator, who may do everything."""
    return Acting(None, realm, _EVERYTHING)


class AdminAccess:
    """Resolves rights by what the database holds now."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rights(self, caller: Caller, realm: Realm) -> Rights:
        """Return the caller's rights over `realm`; raises StoreUnavailable."""
        if _holder(caller, realm) is None:
            return Rights(frozenset())
        return rights_over(caller, realm, await self.held(caller))

    async def held(self, caller: Caller) -> EffectiveRoles:
        """Return the roles that the caller acts with in its own realm."""
        async with self._database.read() as stores:
            held = await stores.roles.effective(caller.realm.id, caller.user.id)
        return held.within(caller.scope)


def rights_over(caller: Caller, realm: Realm, held: EffectiveRoles) -> Rights:
    """Return what a caller with these roles in its own realm may do to `realm`."""
    client = _holder(caller, realm)
    if client is None:
        return Rights(frozenset())
    names = _names(held, client)
    return Rights(frozenset(role for role in AdminRole if role in names), held)


def _holder(caller: Caller, realm: Realm) -> str | None:
    """Return the client of the caller's realm that holds the roles over `realm`."""
    if caller.realm.name == MASTER:
        return administration_client(realm.name)
    return REALM_MANAGEMENT if caller.realm.id == realm.id else None


def _names(held: EffectiveRoles, client: str) -> tuple[str, ...]:
    return next((names for name, names in held.clients if name == client), ())


def may_create_realms(acting: Acting) -> bool:
    """Tell whether the caller has `create-realm` in the realm that administers the others."""
    if acting.caller is None:
        return True
    held = acting.rights.held
    in_master = acting.caller.realm.name == MASTER
    return in_master and held is not None and CREATE_REALM in held.realm
