"""A realm's own texts by language: stored for pages, which do not exist yet.

Keycloak: localization, which records no event; here a change is one of the realm
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import Acting, existing
from gateway.admin.changes import Administration, Change
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.storage import DocumentKind
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, NotFound
from gateway.representations.realms import (
    MOST_LOCALES,
    MOST_TEXTS,
    is_locale,
    parse_text,
    parse_texts,
)

_KIND: Final = DocumentKind.LOCALIZATION
_TEXT_NOT_FOUND: Final = "Localization text not found"


class Localizations(Administration):
    """The use cases."""

    async def list_locales(self, realm: Realm) -> list[str]:
        async with self._database.read() as stores:
            return list(await stores.documents.list_documents(realm.id, _KIND))

    async def get_texts(self, realm: Realm, locale: str, *, fallback: bool) -> dict[str, Any]:
        """Return the texts of a language; `fallback` adds those of the realm's default one."""
        standard = realm.localization.default_locale
        async with self._database.read() as stores:
            own = await stores.documents.find_document(realm.id, _KIND, locale) or {}
            if not fallback or not standard:
                return dict(own)
            return {
                **(await stores.documents.find_document(realm.id, _KIND, standard) or {}),
                **own,
            }

    async def get_text(self, realm: Realm, locale: str, key: str) -> str:
        texts = await self.get_texts(realm, locale, fallback=False)
        return str(existing(texts.get(key), _TEXT_NOT_FOUND))

    async def add_texts(self, acting: Acting, locale: str, document: Mapping[str, Any]) -> None:
        """Add or change texts of a language; raises InvalidInput, InvalidRequest."""
        await self._put_texts(acting, locale, parse_texts(document, ""))

    async def put_text(self, acting: Acting, locale: str, key: str, text: str) -> None:
        await self._put_texts(acting, locale, {key: parse_text(text, key)})

    async def remove_text(self, acting: Acting, locale: str, key: str) -> None:
        async with self._changes.begin(acting, alone=True) as change:
            texts = await self._known(change, locale)
            if key not in texts:
                raise NotFound(_TEXT_NOT_FOUND)
            del texts[key]
            await change.stores.documents.put_document(change.realm.id, _KIND, locale, texts)
            _record(change, locale, OperationType.UPDATE)

    async def remove_texts(self, acting: Acting, locale: str) -> None:
        async with self._changes.begin(acting, alone=True) as change:
            if not await change.stores.documents.remove_document(change.realm.id, _KIND, locale):
                raise NotFound(f"No localization texts for locale {locale} found.")
            _record(change, locale, OperationType.DELETE)

    async def _put_texts(self, acting: Acting, locale: str, new: Mapping[str, str]) -> None:
        if not is_locale(locale):
            raise InvalidRequest("A language is written as in BCP 47: en, pt-BR")
        async with self._changes.begin(acting, alone=True) as change:
            texts = {**await self._known(change, locale), **new}
            if len(texts) > MOST_TEXTS:
                raise InvalidRequest(f"A language has at most {MOST_TEXTS} texts")
            documents, realm_id = change.stores.documents, change.realm.id
            if len({*await documents.list_documents(realm_id, _KIND), locale}) > MOST_LOCALES:
                raise InvalidRequest(f"A realm has texts of at most {MOST_LOCALES} languages")
            await documents.put_document(realm_id, _KIND, locale, texts)
            _record(change, locale, OperationType.UPDATE)

    async def _known(self, change: Change, locale: str) -> dict[str, Any]:
        return dict(
            await change.stores.documents.find_document(change.realm.id, _KIND, locale) or {}
        )


def _record(change: Change, locale: str, operation: OperationType) -> None:
    change.record(operation, ResourceType.REALM, f"localization/{locale}")
