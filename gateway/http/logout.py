"""Logout in a browser or by refresh token, and the frames by which clients watch a session.

A POST with `refresh_token` is a client's; everything else is a browser's. The question whether to
log out carries a code that is sealed for the session of the browser: only the form of this gateway,
shown to this user, can answer it.

Frames may be framed by any page, so they have headers of their own: their only content is a script
of the gateway. The check of the page's origin is in `init`. Keycloak: 12.6 logout;
Spec: OpenID Connect Session Management §3.2
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope

from gateway.domain.errors import RealmNotFound, SecretUnreadable
from gateway.domain.events import EventType
from gateway.domain.localization import LocalizedText
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.realm import SecurityHeaders
from gateway.domain.secrets import SecretsAtRest
from gateway.http.browser import (
    BrowserCookies,
    BrowserEndpoint,
    BrowserRequest,
    CookieName,
    PageReplies,
    client_display,
    cookie_headers,
    error_page,
    locale_preferences,
    read_cookies,
    record_refusal,
    signed_out,
)
from gateway.http.cross_origin import FOR_SESSIONS
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.forms import parse_form
from gateway.http.middleware import only_on_pages
from gateway.http.pages import LocalePreferences, ResourceUrls
from gateway.http.pages.content_security_policy import safe_link
from gateway.http.pages.page_values import View
from gateway.http.pages.views import (
    FrontChannelLogoutPage,
    InfoPage,
    LoggedOutPage,
    LogoutConfirmationPage,
    LogoutFrame,
)
from gateway.http.realm_endpoint import (
    Exemption,
    GuardedEndpoint,
    RealmCheck,
    RealmContext,
    RealmEndpoint,
)
from gateway.http.replies import NO_STORE, Reply
from gateway.protocol.authorization import PageError
from gateway.protocol.errors import OAuthError
from gateway.protocol.identity_cookie import BrowserIdentity, LoginStatus, login_status
from gateway.protocol.logout import AskToLogOut, BrowserLogout, LoggedOut, log_out_by_token
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.session_tokens import ProtocolServices

CONFIRM_PATH: Final = "protocol/openid-connect/logout/logout-confirm"
_CANCEL_PATH: Final = "protocol/openid-connect/logout/logout-cancel"
LOGOUT_PATH: Final = "protocol/openid-connect/logout"
_METHODS: Final = ("GET", "HEAD")
_FOUND: Final = 302
_NOT_KEPT: Final = (b"cache-control", b"no-store, must-revalidate, max-age=0")
_LONGEST_CODE: Final = 16 * 1024
_TIME_TO_ANSWER: Final = timedelta(minutes=5)


class BrowserLogoutHandler:
    """Answers the requests of browsers to log out."""

    def __init__(
        self,
        logout: BrowserLogout,
        cookies: BrowserCookies,
        pages: PageReplies,
        secrets: SecretsAtRest,
    ) -> None:
        self._logout = logout
        self._cookies = cookies
        self._pages = pages
        self._secrets = secrets

    async def begin(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Log out, or ask whether to: what a client or a link of its pages leads to."""
        identity = await self._cookies.find_identity(request)
        outcome = await self._logout.begin(request.protocol, identity)
        if isinstance(outcome, AskToLogOut):
            return await self._ask(request, outcome)
        return await self._logged_out(request, exchange, outcome, identity)

    async def confirm(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Take the answer to the question."""
        identity = await self._cookies.find_identity(request)
        stored = self._opened(request, identity) if "confirmLogout" in request.form else None
        outcome = await self._logout.confirm(request.protocol, identity, stored)
        return await self._logged_out(request, exchange, outcome, identity)

    async def end(
        self, request: BrowserRequest, exchange: Exchange, identity: BrowserIdentity, client_id: str
    ) -> Reply:
        """Log out at once: the user has asked for it on a page of the gateway."""
        asked = Parameters({"client_id": client_id})
        outcome = await self._logout.confirm(request.protocol, identity, asked)
        return await self._logged_out(request, exchange, outcome, identity)

    async def _ask(self, request: BrowserRequest, outcome: AskToLogOut) -> Reply:
        client, issuer = outcome.asked.client, request.protocol.issuer
        named = {} if client is None else {"client_id": client.client_id}
        query = f"?{urlencode(named)}" if named else ""
        view = LogoutConfirmationPage(
            action=f"{issuer}/{CONFIRM_PATH}{query}",
            cancel_url=f"{issuer}/{_CANCEL_PATH}{query}",
            session_code=self._sealed(request, outcome),
            client=None if client is None else client_display(client),
        )
        return await self._pages.page(
            view,
            request.protocol.realm.realm,
            _preferences(request, outcome.identity),
            client=client,
            url=f"{issuer}/{LOGOUT_PATH}?{urlencode(outcome.asked.stored())}",
        )

    async def _logged_out(
        self,
        request: BrowserRequest,
        exchange: Exchange,
        outcome: LoggedOut,
        identity: BrowserIdentity | None,
    ) -> Reply:
        protocol, client = request.protocol, outcome.client
        exchange.log.client = None if client is None else client.client_id
        cookies = cookie_headers(protocol, signed_out()) if outcome.has_ended else ()
        stops = client is not None and client.logout.stops_at_page
        if outcome.target and not outcome.frames and not stops:
            location = (b"location", outcome.target.encode("ascii", "xmlcharrefreplace"))
            return Reply(_FOUND, (location, _NOT_KEPT, *cookies))
        page = await self._pages.page(
            _logout_view(outcome, stops=stops),
            protocol.realm.realm,
            _preferences(request, identity),
            client=client,
        )
        return Reply(page.status, (*page.headers, *cookies), page.body)

    async def cancel(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Lead back to the application that asked, or else to a page with a way on.

        The session may have ended meanwhile, for instance in another tab.
        """
        protocol = request.protocol
        protocol.event.withdraw()
        client = await self._logout.find_client(protocol)
        shown = None if client is None else client_display(client)
        exchange.log.client = None if client is None else client.client_id
        home = "" if shown is None else safe_link(shown.home_url)
        if home:
            location = (b"location", home.encode("ascii", "xmlcharrefreplace"))
            return Reply(HTTPStatus.SEE_OTHER, (location, _NOT_KEPT))
        identity = await self._cookies.find_identity(request)
        view: View = LoggedOutPage(client=shown)
        if identity is not None:
            view = InfoPage(
                message=LocalizedText("stillSignedInHint"),
                title=LocalizedText("stillSignedIn"),
                client=shown,
            )
        preferences = _preferences(request, identity)
        return await self._pages.page(view, protocol.realm.realm, preferences, client=client)

    def _sealed(self, request: BrowserRequest, outcome: AskToLogOut) -> str:
        until = (request.protocol.now + _TIME_TO_ANSWER).isoformat()
        stored = {"until": until, "asked": outcome.asked.stored()}
        context = _code_context(request, outcome.identity)
        return self._secrets.seal(orjson.dumps(stored).decode(), context)

    def _opened(
        self, request: BrowserRequest, identity: BrowserIdentity | None
    ) -> Parameters | None:
        """Return what the code holds, None for one of another session or for an old one."""
        code = request.form.get("session_code", "")
        if identity is None or len(code) > _LONGEST_CODE:
            return None
        try:
            stored: Any = orjson.loads(self._secrets.unseal(code, _code_context(request, identity)))
        except SecretUnreadable:
            return None
        if datetime.fromisoformat(stored["until"]) <= request.protocol.now:
            return None
        return Parameters(stored["asked"])


def _preferences(request: BrowserRequest, identity: BrowserIdentity | None) -> LocalePreferences:
    """Add the language of the user who is, or was, signed in."""
    if identity is None:
        return request.preferences
    return replace(request.preferences, user=identity.user.locale)


def _logout_view(outcome: LoggedOut, *, stops: bool) -> View:
    if outcome.frames:
        frames = tuple(
            LogoutFrame(frame.client.display.name or frame.client.client_id, frame.url)
            for frame in outcome.frames
        )
        return FrontChannelLogoutPage(frames=frames, continue_url=outcome.target)
    shown = None if outcome.client is None else client_display(outcome.client)
    if stops and outcome.target:
        message = LocalizedText("successLogout")
        return InfoPage(message=message, continue_url=outcome.target, client=shown)
    return LoggedOutPage(client=shown)


def _code_context(request: BrowserRequest, identity: BrowserIdentity) -> str:
    realm = request.protocol.realm.realm.id
    return f"logout:{realm}:{identity.session.id}:{identity.state_checker}"


LOGOUT: Final = f"/realms/{{realm}}/{LOGOUT_PATH}"
CONFIRM: Final = f"/realms/{{realm}}/{CONFIRM_PATH}"
_CANCEL: Final = f"/realms/{{realm}}/{_CANCEL_PATH}"
ENDING: Final = (
    Exemption(RealmCheck.ENABLED, "sessions of a disabled realm may end: that gives no access"),
)
_TOKEN = "refresh_token"  # noqa: S105 - a parameter


@dataclass(frozen=True, slots=True)
class LogoutHandlers:
    """What answers the URLs, and what renders their pages."""

    protocol: ProtocolServices
    of_browsers: BrowserLogoutHandler
    pages: PageReplies


class LogoutHandler:
    """Answers clients itself, browsers by their handler."""

    def __init__(self, services: ProtocolServices, of_browsers: BrowserLogoutHandler) -> None:
        self._services = services
        self._of_browsers = of_browsers

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        """Return 204 to a client once the session has ended; to a browser a page or a redirect."""
        if request.parameters.raw(_TOKEN) is None:
            cookies = read_cookies(exchange.facts.headers.text(b"cookie"))
            browser = BrowserRequest(
                protocol=request,
                cookies=cookies,
                preferences=locale_preferences(exchange, request.parameters, cookies),
            )
            return await self._of_browsers.begin(browser, exchange)
        caller = await log_out_by_token(self._services, request)
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
        sent = Parameters.from_pairs(parse_form(scope["query_string"]))
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
    of_all = LogoutHandler(handlers.protocol, handlers.of_browsers)
    logout = LogoutRoute(LOGOUT, of_all, context, handlers.pages)
    cancel = BrowserEndpoint(
        _CANCEL,
        handlers.of_browsers.cancel,
        context,
        handlers.pages,
        methods=_METHODS,
        has_own_forms=False,
        event=EventType.LOGOUT,
    )
    return [Route(LOGOUT, logout), Route(CONFIRM, confirm), Route(_CANCEL, cancel)]


_PROTOCOL: Final = "/realms/{realm}/protocol/openid-connect"
LOGIN_STATUS_FRAME: Final = f"{_PROTOCOL}/login-status-iframe.html"
_THIRD_PARTY_COOKIES: Final = f"{_PROTOCOL}/3p-cookies"
_POLICY: Final = (
    b"content-security-policy",
    (
        b"default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none';"
        b" form-action 'none'"
    ),
)
_HTML: Final = (b"content-type", b"text/html;charset=utf-8")
_PAGE: Final = (
    '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>\n'
    '<script src="{script}"></script></head>\n<body></body>\n</html>\n'
)
_STATUS: Final = {
    LoginStatus.UNCHANGED: HTTPStatus.NO_CONTENT,
    LoginStatus.CHANGED: HTTPStatus.CONFLICT,
    LoginStatus.REFUSED: HTTPStatus.FORBIDDEN,
}


@dataclass(frozen=True, slots=True)
class _Frame:
    path: str
    title: str
    script: str


_FRAMES: Final = (
    _Frame(LOGIN_STATUS_FRAME, "Login status", "login-status.js"),
    _Frame(f"{_THIRD_PARTY_COOKIES}/step1.html", "Cookies", "third-party-cookies.js"),
    _Frame(f"{_THIRD_PARTY_COOKIES}/step2.html", "Cookies", "third-party-cookies.js"),
)


class _FrameEndpoint(GuardedEndpoint):
    """Serves one frame."""

    def __init__(self, frame: _Frame, context: RealmContext, urls: ResourceUrls) -> None:
        super().__init__(frame.path, context.directory, context.log, methods=_METHODS)
        page = _PAGE.format(title=frame.title, script=urls.built_in(frame.script))
        self._body = page.encode()

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - a GET has no body
        exchange: Exchange,
        entry: RealmEntry | None,
    ) -> Reply:
        _require_method(scope)
        if entry is not None:
            exchange.security_headers = _framed_by_any_page(entry.realm.security_headers)
        return Reply(HTTPStatus.OK, (_HTML, _NOT_KEPT, _POLICY), self._body)


class _StatusEndpoint(GuardedEndpoint):
    """Answers the script of the frame: 204 unchanged, 409 changed, 403 no answer for this page."""

    def __init__(self, context: RealmContext) -> None:
        path = f"{LOGIN_STATUS_FRAME}/init"
        super().__init__(path, context.directory, context.log, methods=_METHODS)
        self._context = context

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - a GET has no body
        exchange: Exchange,
        entry: RealmEntry | None,
    ) -> Reply:
        _require_method(scope)
        if entry is None:
            raise RealmNotFound("the path names no realm")
        parameters = Parameters.from_pairs(parse_form(scope["query_string"]))
        request = await self._context.request(entry, exchange.facts, parameters)
        cookies = read_cookies(exchange.facts.headers.text(b"cookie"))
        found = await login_status(
            request,
            self._context.directory,
            self._context.origins,
            cookies.get(CookieName.SESSION, ()),
        )
        return Reply(_STATUS[found], (_NOT_KEPT,))


def build_session_frame_routes(context: RealmContext, urls: ResourceUrls) -> list[BaseRoute]:
    """Return the URLs of the frames."""
    status = _StatusEndpoint(context)
    frames = [Route(frame.path, _FrameEndpoint(frame, context, urls)) for frame in _FRAMES]
    return [Route(status.route, status), *frames]


def _require_method(scope: Scope) -> None:
    if scope["method"] not in _METHODS:
        raise MethodNotAllowed(_METHODS)


def _framed_by_any_page(headers: SecurityHeaders) -> SecurityHeaders:
    kept = tuple(pair for pair in headers.values if pair[0] != "xFrameOptions")
    return replace(headers, values=kept)
