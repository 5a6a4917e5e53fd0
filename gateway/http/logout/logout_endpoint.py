"""/realms/{realm}/protocol/openid-connect/logout: for browsers, and for clients by refresh token.

A POST with `refresh_token` is a client's; everything else is a browser's. Keycloak: 12.6
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope

from gateway.domain.events import EventType
from gateway.domain.ports.directory import RealmEntry
from gateway.http.cross_origin import FOR_SESSIONS
from gateway.http.exchange import Exchange
from gateway.http.form import parse_form
from gateway.http.guarded_endpoint import Exemption, RealmCheck
from gateway.http.logout.browser_logout import (
    CONFIRM_PATH,
    LOGOUT_PATH,
    BrowserLogoutHandler,
)
from gateway.http.middleware.security_headers import only_on_pages
from gateway.http.realm_endpoint import RealmContext, RealmEndpoint
from gateway.http.replies import NO_STORE, Reply
from gateway.http.sign_in.browser_endpoint import (
    BrowserEndpoint,
    BrowserRequest,
    error_page,
    locale_preferences,
    record_refusal,
)
from gateway.http.sign_in.cookies import read_cookies
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.authorization import PageError
from gateway.protocol.errors import OAuthError
from gateway.protocol.logout import LogoutEndpoint
from gateway.protocol.parameters import Parameters
from gateway.protocol.requests import ProtocolRequest

LOGOUT: Final = f"/realms/{{realm}}/{LOGOUT_PATH}"
CONFIRM: Final = f"/realms/{{realm}}/{CONFIRM_PATH}"
ENDING: Final = (
    Exemption(RealmCheck.ENABLED, "sessions of a disabled realm may end: that gives no access"),
)
_TOKEN = "refresh_token"  # noqa: S105 - a parameter


@dataclass(frozen=True, slots=True)
class LogoutHandlers:
    """What answers the URLs, and what renders their pages."""

    of_clients: LogoutEndpoint
    of_browsers: BrowserLogoutHandler
    pages: PageReplies


class LogoutHandler:
    """Answers clients itself, browsers by their handler."""

    def __init__(self, of_clients: LogoutEndpoint, of_browsers: BrowserLogoutHandler) -> None:
        self._of_clients = of_clients
        self._of_browsers = of_browsers

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        """Return 204 to a client once the session has ended; to a browser a page or a redirect."""
        if request.parameters.raw(_TOKEN) is None:
            browser = BrowserRequest(
                protocol=request,
                cookies=read_cookies(exchange.facts.headers.text(b"cookie")),
                preferences=locale_preferences(exchange, request.parameters),
            )
            return await self._of_browsers.begin(browser, exchange)
        caller = await self._of_clients.answer(request)
        exchange.log.client = caller.entry.client.client_id
        return Reply(HTTPStatus.NO_CONTENT, only_on_pages(request.realm.realm.security_headers))


class LogoutRoute(RealmEndpoint):
    """The endpoint; what a browser does wrong is answered with a page."""

    def __init__(
        self, route: str, handler: LogoutHandler, context: RealmContext, pages: PageReplies
    ) -> None:
        super().__init__(
            route,
            handler,
            context,
            methods=("GET", "POST"),
            exempt=ENDING,
            always=NO_STORE,
            cross_origin=FOR_SESSIONS,
        )
        self._pages = pages

    async def _note_refusal(
        self, refusal: OAuthError, entry: RealmEntry, exchange: Exchange
    ) -> None:
        await record_refusal(self._context, refusal, entry, exchange, EventType.LOGOUT)

    async def _parameters(self, scope: Scope, receive: Receive, exchange: Exchange) -> Parameters:
        if scope["method"] == "POST":
            return await super()._parameters(scope, receive, exchange)
        sent = Parameters.of(parse_form(scope["query_string"]))
        # A refresh token in a URL is never used.
        kept = {name: text for name, text in sent.values.items() if name != _TOKEN}
        return Parameters(kept, sent.repeated_names)

    async def _present(self, error: Exception, reply: Reply, exchange: Exchange) -> Reply:
        is_page = exchange.facts.headers.text(b"sec-fetch-mode") == "navigate"
        if is_page or isinstance(error, PageError):
            return await error_page(self._pages, error, reply, exchange)
        return reply


def build_logout_routes(handlers: LogoutHandlers, context: RealmContext) -> list[BaseRoute]:
    """Return the URLs of logouts."""
    confirm = BrowserEndpoint(
        CONFIRM,
        handlers.of_browsers.confirm,
        context,
        handlers.pages,
        methods=("POST",),
        has_own_forms=True,
        event=EventType.LOGOUT,
        exempt=ENDING,
    )
    of_all = LogoutHandler(handlers.of_clients, handlers.of_browsers)
    logout = LogoutRoute(LOGOUT, of_all, context, handlers.pages)
    return [Route(LOGOUT, logout), Route(CONFIRM, confirm)]
