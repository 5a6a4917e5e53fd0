"""Shows pages in the language and the design of a request."""

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, urlencode

from gateway.domain.clients import Client
from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.directory import RealmEntry
from gateway.http.pages import LocaleWishes, PageFrame, PageRenderer, View, select_locale
from gateway.http.replies import Reply
from gateway.http.sign_in.realm_texts import RealmTexts

_THEME: Final = "loginTheme"
_CLIENT_THEME: Final = "login_theme"
CHOSEN_LOCALE: Final = "kc_locale"


class PageReplies:
    """Renders pages for endpoints."""

    def __init__(self, renderer: PageRenderer, texts: RealmTexts) -> None:
        self._renderer = renderer
        self._texts = texts

    async def page(
        self,
        view: View,
        entry: RealmEntry,
        wishes: LocaleWishes,
        *,
        status: int = HTTPStatus.OK,
        client: Client | None = None,
        url: str | None = None,
    ) -> Reply:
        """Return a page; `url` is that of the page itself, to show it in another language.

        A page is shown without the texts of the realm where they cannot be read.
        """
        realm = entry.realm
        locale = select_locale(realm.localization, wishes)
        own = {}
        with suppress(StoreUnavailable):
            own = dict(await self._texts.find(entry, locale))
        frame = PageFrame(
            entry=entry,
            locale=locale,
            texts=own,
            theme=_theme(entry, client),
            language_url=None if url is None else _in_language(url),
        )
        return self._renderer.reply(view, frame, status)


def _theme(entry: RealmEntry, client: Client | None) -> str:
    of_client = "" if client is None else client.attributes.get(_CLIENT_THEME, "")
    return of_client or str(entry.realm.unmodelled.get(_THEME) or "")


def _in_language(url: str) -> Callable[[str], str]:
    """Return a function from a locale to the URL with it."""
    path, _, query = url.partition("?")
    kept = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != CHOSEN_LOCALE]
    return lambda locale: f"{path}?{urlencode([*kept, (CHOSEN_LOCALE, locale)])}"
