"""The pages for those who answer requests: one call from a view to a response."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus

from gateway.domain.errors import StoreUnavailable
from gateway.domain.localization import Catalog, LocalePreferences, Texts, fallbacks, select_locale
from gateway.domain.ports.lookups import RealmTexts
from gateway.domain.realm import Realm
from gateway.http.pages.page_values import View
from gateway.http.pages.renderer import LanguageUrl, PageFrame, PageRenderer
from gateway.http.replies import Reply

_NO_PREFERENCES = LocalePreferences()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageVisit:
    """For whom a page is shown.

    `theme` is the client's `login_theme`, which replaces the realm's. `language_url` returns the
    URL of the same page for a locale; without it no other language is offered.
    """

    realm: Realm
    preferences: LocalePreferences = _NO_PREFERENCES
    theme: str = ""
    language_url: LanguageUrl | None = field(default=None, repr=False)


class Pages:
    """Shows pages in the language, texts and design of a realm."""

    def __init__(self, renderer: PageRenderer, texts: RealmTexts) -> None:
        self._renderer = renderer
        self._texts = texts

    async def reply(self, view: View, visit: PageVisit, status: int = HTTPStatus.OK) -> Reply:
        """Return the page as a response; without the database the realm's texts are left out."""
        return self._renderer.reply(view, await self._frame(visit), status)

    async def texts(self, visit: PageVisit) -> Texts:
        """Return the texts of a page for JSON, in the same language."""
        return self._renderer.texts(await self._frame(visit))

    async def _frame(self, visit: PageVisit) -> PageFrame:
        realm = visit.realm
        locale = select_locale(realm.localization, visit.preferences)
        texts: Mapping[str, Catalog] = {}
        with suppress(StoreUnavailable):
            texts = await self._texts.find_texts(realm.id, fallbacks(locale))
        return PageFrame(
            realm=realm,
            locale=locale,
            texts=texts,
            theme=visit.theme or realm.login_theme or "",
            language_url=visit.language_url,
        )
