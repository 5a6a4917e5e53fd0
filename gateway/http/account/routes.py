"""The URLs of the account console.

The API of accounts has some of the same URLs: it answers what names JSON, and this what does not.
Keycloak: 17.7
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from gateway.domain.events import EventType
from gateway.http.account.actions import AccountActions
from gateway.http.account.console import Console
from gateway.http.account.urls import ACTION, SIGN_OUT
from gateway.http.realm_endpoint import RealmContext
from gateway.http.sign_in.browser_endpoint import BrowserEndpoint, BrowserHandler
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.account_console import AccountPage

_ACCOUNT: Final = "/realms/{realm}/account"
_NEGOTIATED: Final = {b"accept", b"content-type"}
_JSON: Final = b"application/json"
_METHODS: Final = ("GET", "HEAD", "POST")
"""Those of pages; preflights of browsers are for the API."""


@dataclass(frozen=True, slots=True)
class AccountHandlers:
    """What answers the URLs, and what renders their pages."""

    console: Console
    actions: AccountActions
    pages: PageReplies


class PageRoute(Route):
    """A route of pages: requests that are not for pages go on to the routes behind it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and (scope["method"] not in _METHODS or _names_json(scope)):
            return Match.NONE, {}
        return super().matches(scope)


def build_account_routes(handlers: AccountHandlers, context: RealmContext) -> list[BaseRoute]:
    """Return the URLs; they come before those of the API."""
    console, actions = handlers.console, handlers.actions
    routes: list[BaseRoute] = []
    for handler in console.handlers:
        answer = partial(console.page, handler)
        paths = [f"{_ACCOUNT}/{handler.page.value}"]
        if handler.page is AccountPage.PERSONAL_INFO:
            paths.append(_ACCOUNT)
        routes += [_route(path, answer, handlers, context, _METHODS) for path in paths]
    begin, sign_out = f"{_ACCOUNT}/{ACTION}", f"{_ACCOUNT}/{SIGN_OUT}"
    return [
        *routes,
        _route(begin, actions.begin, handlers, context, ("GET", "HEAD")),
        _route(sign_out, actions.sign_out, handlers, context, ("POST",), event=EventType.LOGOUT),
    ]


def _route(
    path: str,
    handler: BrowserHandler,
    handlers: AccountHandlers,
    context: RealmContext,
    methods: tuple[str, ...],
    *,
    event: EventType = EventType.LOGIN,
) -> PageRoute:
    endpoint = BrowserEndpoint(
        path, handler, context, handlers.pages, methods=methods, has_own_forms=True, event=event
    )
    return PageRoute(path, endpoint)


def _names_json(scope: Scope) -> bool:
    return any(name in _NEGOTIATED and _JSON in value.lower() for name, value in scope["headers"])
