"""Shows pages in the language and the design of a request."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, urlencode

from gateway.domain.clients import Client
from gateway.domain.realm import Realm
from gateway.http.pages import LocalePreferences, Pages, PageVisit, View
from gateway.http.replies import Reply

CHOSEN_LOCALE: Final = "kc_locale"


class PageReplies:
    """Renders pages for endpoints."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def page(
        self,
        view: View,
        realm: Realm,
        preferences: LocalePreferences,
        *,
        status: int = HTTPStatus.OK,
        client: Client | None = None,
        theme: str | None = None,
        url: str | None = None,
    ) -> Reply:
        """Return a page; `url` is that of the page itself, to show it in another language.

        Without `theme` it has that of the client, or of the realm.
        """
        visit = PageVisit(
            realm=realm,
            preferences=preferences,
            theme=theme or ("" if client is None else client.display.theme),
            language_url=None if url is None else _in_language(url),
        )
        return await self._pages.reply(view, visit, HTTPStatus(status))


def _in_language(url: str) -> Callable[[str], str]:
    """Return a function from a locale to the URL with it."""
    path, _, query = url.partition("?")
    kept = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != CHOSEN_LOCALE]
    return lambda locale: f"{path}?{urlencode([*kept, (CHOSEN_LOCALE, locale)])}"
