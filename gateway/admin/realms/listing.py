"""Realms as administrators see them: as much of each as the caller's roles over it show.

Keycloak: 7.1 (GET realms, GET of one), 9 (`impersonation` alone shows nothing)
"""

from collections.abc import Iterator
from typing import Any, Final

from gateway.admin.access import Acting, AdminRole, Forbidden, Rights, rights_over
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
        """Return the realms over which the caller has a role; those not fully visible by name."""
        shown: list[dict[str, Any]] = []
        async with self._database.read() as stores:
            for realm, rights in _with_rights(acting, await stores.realms.list()):
                if not rights.has(*VIEW_REALM):
                    shown.append(named_realm(realm))
                elif brief:
                    shown.append(brief_realm(realm))
                else:
                    shown.append(await realm_document(stores, realm))
        if not shown:
            raise Forbidden("no role over any realm")
        return shown

    async def brief(self) -> list[dict[str, Any]]:
        """Return all realms in short form, for the local operator."""
        async with self._database.read() as stores:
            return [brief_realm(realm) for realm in await stores.realms.list()]

    async def one(self, acting: Acting) -> dict[str, Any]:
        """Return one realm, or what the caller may see of it."""
        rights = acting.rights
        if not rights.roles - _SHOWS_NOTHING:
            raise Forbidden("no role that shows the realm")
        if not rights.has(*VIEW_REALM):
            return reduced_realm(acting.realm, sees_users=rights.has(*_VIEW_USERS))
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name)
            return await realm_document(stores, realm or acting.realm)


async def realm_document(stores: Stores, realm: Realm) -> dict[str, Any]:
    """Return the realm as GET shows it to who may see all of it."""
    groups = await _default_groups(stores, realm)
    role = await stores.roles.find(realm.id, realm.default_role_name)
    if role is None:
        return full_realm(realm, None, groups)
    held = await stores.roles.expanded(realm.id, [role.id])
    composite = bool(held.clients) or len(held.realm) > 1
    return full_realm(realm, default_role(role, composite=composite), groups)


async def _default_groups(stores: Stores, realm: Realm) -> list[str]:
    """Return the paths; most realms have none, and are asked no second question."""
    default = await stores.groups.default(realm.id)
    if not default:
        return []
    known = await stores.group_catalogue.with_parents(realm.id, default)
    return [group.path for group in known if group.is_default]


def _with_rights(acting: Acting, realms: tuple[Realm, ...]) -> Iterator[tuple[Realm, Rights]]:
    for realm in realms:
        rights = _rights(acting, realm)
        if rights.roles - _SHOWS_NOTHING:
            yield realm, rights


def _rights(acting: Acting, realm: Realm) -> Rights:
    if acting.caller is None:
        return acting.rights
    return rights_over(acting.caller, realm, acting.rights.held or EffectiveRoles())
