"""The pages for those who answer requests: one call from a view to a response."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from urllib.parse import quote

from gateway.domain.errors import StoreUnavailable
from gateway.domain.localization import Catalog, LocalePreferences, Texts, fallbacks, select_locale
from gateway.domain.ports.lookups import RealmTexts
from gateway.domain.realm import Realm
from gateway.http.pages.page_values import View
from gateway.http.pages.renderer import PAGES, LanguageUrl, PageFrame, PageRenderer
from gateway.http.replies import Reply
from gateway.protocol.account_console import ConsoleClients

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


class AccountLinks:
    """Finds where users manage their accounts, for pages that lead nowhere else."""

    def __init__(self, clients: ConsoleClients, public_url: str) -> None:
        self._clients = clients
        self._public_url = public_url

    async def find_url(self, realm: Realm) -> str:
        """Return the URL of the console; empty where it is off. Raises StoreUnavailable."""
        console = None
        if realm.enabled:
            console = await self._clients.find_usable_console(realm.id)
        name = quote(realm.name, safe="")
        return "" if console is None else f"{self._public_url}/realms/{name}/account/"


class Pages:
    """Shows pages in the language, texts and design of a realm."""

    def __init__(self, renderer: PageRenderer, texts: RealmTexts, accounts: AccountLinks) -> None:
        self._renderer = renderer
        self._texts = texts
        self._accounts = accounts

    async def reply(self, view: View, visit: PageVisit, status: int = HTTPStatus.OK) -> Reply:
        """Return the page as a response; without the database the realm's texts are left out."""
        frame = await self._frame(visit)
        # A page that offers the same request again is shown in an outage: it asks no store.
        if PAGES[type(view)].leads_to_account and not getattr(view, "may_retry", False):
            with suppress(StoreUnavailable):
                frame = replace(frame, account_url=await self._accounts.find_url(visit.realm))
        return self._renderer.reply(view, frame, status)

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
