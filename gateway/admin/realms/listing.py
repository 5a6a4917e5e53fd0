"""Realms as administrators see them: as much of each as the caller's roles permit.

Keycloak: 7.1 (GET realms, GET of one), 9 (`impersonation` alone shows nothing)
"""

from typing import Any, Final

from gateway.admin.access import (
    Acting,
    AdminRole,
    Forbidden,
    Rights,
    rights_over,
)
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.representations.realms import (
    brief_realm,
    default_role,
    full_realm,
    named_realm,
    reduced_realm,
)

VIEW_REALM: Final = (AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM)
_VIEW_USERS: Final = (AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS)
_SHOWS_NOTHING: Final = frozenset({AdminRole.IMPERSONATION})


class RealmListing:
    """Reads realms for administrators. All methods raise Forbidden and StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def visible(self, acting: Acting, *, brief: bool) -> list[dict[str, Any]]:
        """Return the realms over which the caller has a role; only the name of restricted ones."""
        visible: list[dict[str, Any]] = []
        async with self._database.read() as stores:
            for realm in await stores.realms.list():
                rights = _rights(acting, realm)
                if not rights.roles - _SHOWS_NOTHING:
                    continue
                if not rights.has(*VIEW_REALM):
                    visible.append(named_realm(realm))
                elif brief:
                    visible.append(brief_realm(realm))
                else:
                    visible.append(await realm_document(stores, realm))
        if not visible:
            raise Forbidden("no role over any realm")
        return visible

    async def brief(self) -> list[dict[str, Any]]:
        """Return all realms in short form, for the local operator."""
        async with self._database.read() as stores:
            return [brief_realm(realm) for realm in await stores.realms.list()]

    async def one(self, acting: Acting) -> dict[str, Any]:
        rights = acting.rights
        if not rights.roles - _SHOWS_NOTHING:
            raise Forbidden("no role that shows the realm")
        if not rights.has(*VIEW_REALM):
            return reduced_realm(acting.realm, sees_users=rights.has(*_VIEW_USERS))
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name)
            return await realm_document(stores, realm or acting.realm)


async def realm_document(stores: Stores, realm: Realm) -> dict[str, Any]:
    """Return the realm as GET answers a caller who may view all of it."""
    groups = await _default_groups(stores, realm)
    role = await stores.roles.find(realm.id, realm.default_role_name)
    if role is None:
        return full_realm(realm, None, groups)
    held = await stores.roles.expanded(realm.id, [role.id])
    composite = bool(held.clients) or len(held.realm) > 1
    return full_realm(realm, default_role(role, composite=composite), groups)


async def _default_groups(stores: Stores, realm: Realm) -> list[str]:
    """Return the paths; most realms have none and need no second query."""
    default = await stores.groups.default(realm.id)
    if not default:
        return []
    known = await stores.group_catalogue.with_parents(realm.id, default)
    return [group.path for group in known if group.is_default]


def _rights(acting: Acting, realm: Realm) -> Rights:
    if acting.caller is None:
        return acting.rights
    return rights_over(acting.caller, realm, acting.rights.held or EffectiveRoles())
