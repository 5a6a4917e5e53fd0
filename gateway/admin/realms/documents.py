"""The document of a realm, rendered once and kept until the realm changes.

It holds the role and the groups of new users too: their changes are published as those of the
realm.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from gateway.admin.access import RenderedDocument
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.invalidation import REALM_TOPIC, Invalidation
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.representations.realms import default_role, full_realm

_MOST_BYTES: Final = 16 * 1024 * 1024
_REALM_TO_TEXT: Final = 3
"""A realm takes about this many times the bytes of its text."""


@dataclass(frozen=True, slots=True)
class _Rendered:
    realm: Realm = field(repr=False)
    document: RenderedDocument


def _weigh(_: str, rendered: _Rendered) -> int:
    return (1 + _REALM_TO_TEXT) * len(rendered.document.body)


class RealmDocuments:
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
