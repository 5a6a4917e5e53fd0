"""The texts that a realm sets for its pages, by language. Keycloak: localization."""

from collections.abc import Mapping
from typing import Final
from weakref import WeakKeyDictionary

from gateway.domain.ports.directory import RealmEntry
from gateway.domain.ports.storage import Database, DocumentKind
from gateway.http.pages.texts import Catalog, fallbacks

_NONE: Final[Mapping[str, Catalog]] = {}


class RealmTexts:
    """Reads a realm's texts once, until anything of the realm changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: WeakKeyDictionary[RealmEntry, Mapping[str, Catalog]] = WeakKeyDictionary()

    async def find(self, entry: RealmEntry, locale: str) -> Mapping[str, Catalog]:
        """Return the texts of a locale and of its fallbacks; raises StoreUnavailable."""
        texts = self._kept.get(entry)
        if texts is None:
            texts = self._kept[entry] = await self._load(entry.realm.id)
        return {tag: texts[tag] for tag in fallbacks(locale) if tag in texts} if texts else _NONE

    async def _load(self, realm_id: str) -> Mapping[str, Catalog]:
        async with self._database.read() as stores:
            found = await stores.documents.list(realm_id, DocumentKind.LOCALIZATION)
        return {
            locale: {key: str(text) for key, text in texts.items()}
            for locale, texts in found.items()
        }
