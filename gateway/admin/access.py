"""Who may do what to which realm: the one rule in front of every administrative endpoint.

Rights over a realm come from the realm `master`, by its client `<realm>-realm`, or from the realm
itself, by `realm-management`; any other realm's token brings none. They are what the caller holds
now, so that a role taken away is gone at once; where a token carries roles, it brings no others.
Keycloak: 9
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.admin.administration_roles import REALM_MANAGEMENT, AdminRole, administration_client
from gateway.admin.errors import Forbidden
from gateway.domain.clients import Client
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER, Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User

_LIGHTWEIGHT: Final = "client.use.lightweight.access.token.enabled"
_ADMINISTRATION_TOOLS: Final = frozenset({"admin-cli", "security-admin-console"})
"""Clients whose tokens stand for all that the user holds, whatever they carry."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a user, or a service account, of `realm`, by a token of `client`."""

    realm: Realm
    user: User
    client: Client
    claims: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rights:
    """What a caller may do to one realm."""

    roles: frozenset[AdminRole]

    def has(self, *sufficient: AdminRole) -> bool:
        """Tell whether the caller has one of the roles."""
        return not self.roles.isdisjoint(sufficient)

    def require(self, *sufficient: AdminRole) -> None:
        """Raise Forbidden unless the caller has one of the roles."""
        if not self.has(*sufficient):
            raise Forbidden(f"none of the roles {', '.join(sufficient)}")


class AdminAccess:
    """Resolves rights by what the database holds now."""

    def __init__(self, database: Database) -> None:
        """Read roles from `database`."""
        self._database = database

    async def rights(self, caller: Caller, realm: Realm) -> Rights:
        """Return the caller's rights over `realm`; raises StoreUnavailable."""
        client = _holder(caller, realm)
        if client is None:
            return Rights(frozenset())
        async with self._database.read() as stores:
            held = await stores.roles.effective(caller.realm.id, caller.user.id)
        names = _names(held, client)
        carried = _carried(caller, client)
        return Rights(
            frozenset(
                role for role in AdminRole if role in names and (carried is None or role in carried)
            )
        )


def _holder(caller: Caller, realm: Realm) -> str | None:
    """Return the client of the caller's realm that holds the roles over `realm`."""
    if caller.realm.name == MASTER:
        return administration_client(realm.name)
    return REALM_MANAGEMENT if caller.realm.id == realm.id else None


def _names(held: EffectiveRoles, client: str) -> tuple[str, ...]:
    return next((names for name, names in held.clients if name == client), ())


def _carried(caller: Caller, client: str) -> frozenset[str] | None:
    """Return the roles that the token carries; None where it stands for all the user holds."""
    asking = caller.client
    lightweight = asking.attributes.get(_LIGHTWEIGHT, "").lower() == "true"
    if asking.client_id in _ADMINISTRATION_TOOLS or (lightweight and asking.full_scope_allowed):
        return None
    access = caller.claims.get("resource_access")
    roles = access.get(client, {}).get("roles", ()) if isinstance(access, dict) else ()
    return frozenset(roles)
