"""Realms as administrators see them: as much of each as the caller's roles permit.

Keycloak: 7.1 (GET realms, GET of one), 9 (`impersonation` alone shows nothing)
"""

from typing import Any, Final

from gateway.admin.access import (
    Acting,
    AdminRole,
    Forbidden,
    RenderedDocument,
    Rights,
    rights_over,
)
from gateway.admin.realms.documents import RealmDocuments, realm_document
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.representations.realms import (
    brief_realm,
    named_realm,
    reduced_realm,
)

VIEW_REALM: Final = (AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM)
_VIEW_USERS: Final = (AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS)
_SHOWS_NOTHING: Final = frozenset({AdminRole.IMPERSONATION})


class RealmListing:
    """Reads realms for administrators. All methods raise Forbidden and StoreUnavailable."""

    def __init__(self, database: Database, documents: RealmDocuments) -> None:
        self._database = database
        self._documents = documents

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
        """Return the realm as it is stored now."""
        reduced = _reduced(acting)
        if reduced is not None:
            return reduced
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name)
            return await realm_document(stores, realm or acting.realm)

    async def rendered(self, acting: Acting) -> RenderedDocument:
        """Return the same, rendered, of a realm of the directory."""
        reduced = _reduced(acting)
        if reduced is not None:
            return RenderedDocument.of(reduced)
        return await self._documents.full(acting.realm)


def _reduced(acting: Acting) -> dict[str, Any] | None:
    """Return what a caller sees who may not view the settings, None for one who may."""
    rights = acting.rights
    if not rights.roles - _SHOWS_NOTHING:
        raise Forbidden("no role that shows the realm")
    if rights.has(*VIEW_REALM):
        return None
    return reduced_realm(acting.realm, sees_users=rights.has(*_VIEW_USERS))


def _rights(acting: Acting, realm: Realm) -> Rights:
    if acting.caller is None:
        return acting.rights
    return rights_over(acting.caller, realm, acting.rights.held or EffectiveRoles())
