"""Who an administrator is, and over which realms. Keycloak: console/whoami, serverinfo."""

from typing import Any, Final

from gateway.admin.access.access import Acting, AdminAccess, Caller, may_create_realms
from gateway.admin.access.administration_roles import REALM_MANAGEMENT, AdminRole
from gateway.admin.access.errors import Forbidden, NotAuthenticated, WrongClient
from gateway.admin.access.role_index import ADMIN, CREATE_REALM
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User

_CONSOLE: Final = "security-admin-console"


class Administrators:
    """The use cases."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._access = AdminAccess(database)

    async def who(self, acting: Acting, current: str | None) -> dict[str, Any]:
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
        rights = await self._access.rights(caller, realm)
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
