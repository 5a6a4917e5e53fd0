"""Realms as administrators see them: as much of each as the caller's roles permit.

The document of a realm is rendered once and kept until the realm changes. It holds the role and the
groups of new users too: their changes are published as those of the realm.
Keycloak: 7.1 (GET realms, GET of one), 9 (`impersonation` alone shows nothing)
"""

from dataclasses import dataclass, field
from typing import Any, Final

from gateway.admin.access import Acting, AdminRole, Rights, rights_over
from gateway.admin.changes import RenderedDocument
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.invalidation import REALM_TOPIC, Invalidation
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import Forbidden
from gateway.domain.roles import EffectiveRoles
from gateway.representations.realms import (
    brief_realm,
    default_role,
    full_realm,
    named_realm,
    reduced_realm,
)

_MOST_BYTES: Final = 16 * 1024 * 1024
_REALM_TO_TEXT: Final = 3
"""A realm takes about this many times the bytes of its text."""


@dataclass(frozen=True, slots=True)
class _Rendered:
    realm: Realm = field(repr=False)
    document: RenderedDocument


def _weigh(_: str, rendered: _Rendered) -> int:
    return (1 + _REALM_TO_TEXT) * len(rendered.document.body)


class RealmViews:
    """Renders realms for callers who may view all their settings."""

    def __init__(self, database: Database, invalidation: Invalidation) -> None:
        self._database = database
        self._rendered: SizedCache[str, _Rendered] = SizedCache(_MOST_BYTES, _weigh)
        self._version = 0
        invalidation.subscribe(self._invalidate)

    async def full(self, realm: Realm) -> RenderedDocument:
        """Return the document of a realm of the directory; raises StoreUnavailable."""
        known = self._rendered.get(realm.id)
        if known is not None and known.realm is realm:
            return known.document
        version = self._version
        async with self._database.read() as stores:
            document = RenderedDocument.of(await realm_document(stores, realm))
        if version == self._version:
            self._rendered.put(realm.id, _Rendered(realm, document))
        return document

    def _invalidate(self, topic: str | None) -> None:
        self._version += 1
        if topic is None:
            self._rendered.clear()
        elif topic.startswith(REALM_TOPIC):
            self._rendered.drop(topic.removeprefix(REALM_TOPIC))


async def realm_document(stores: Stores, realm: Realm) -> dict[str, Any]:
    """Return the realm as GET answers a caller who may view all of it."""
    groups = await _default_groups(stores, realm)
    role = await stores.roles.find_realm_role(realm.id, realm.default_role_name)
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


VIEW_REALM: Final = (AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM)
_VIEW_USERS: Final = (AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS)
_SHOWS_NOTHING: Final = frozenset({AdminRole.IMPERSONATION})


class RealmListing:
    """Reads realms for administrators. All methods raise Forbidden and StoreUnavailable."""

    def __init__(self, database: Database, documents: RealmViews) -> None:
        self._database = database
        self._documents = documents

    async def list_visible_realms(self, acting: Acting, *, brief: bool) -> list[dict[str, Any]]:
        """Return the realms over which the caller has a role; only the name of restricted ones."""
        visible: list[dict[str, Any]] = []
        async with self._database.read() as stores:
            for realm in await stores.realms.list_realms():
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

    async def list_realms(self) -> list[dict[str, Any]]:
        """Return all realms in short form, for the local operator."""
        async with self._database.read() as stores:
            return [brief_realm(realm) for realm in await stores.realms.list_realms()]

    async def get_realm_document(self, acting: Acting) -> dict[str, Any]:
        """Return the realm as it is stored now."""
        reduced = _reduced(acting)
        if reduced is not None:
            return reduced
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name)
            return await realm_document(stores, realm or acting.realm)

    async def render_realm(self, acting: Acting) -> RenderedDocument:
        """Return the same, rendered, of a realm of the directory."""
        reduced = _reduced(acting)
        if reduced is not None:
            return RenderedDocument.of(reduced)
        return await self._documents.full(acting.realm)


def _reduced(acting: Acting) -> dict[str, Any] | None:
    """Return the reduced realm for a caller without the right to view settings, else None."""
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
