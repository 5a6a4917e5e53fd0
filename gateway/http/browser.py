"""Requests of browsers: their endpoint, whose errors are pages, and the cookies of sign-ins.

A GET is read from the query. A POST to the authorization endpoint is read from its body; a name of
its query that is in the body too comes twice. A form of a page has the sign-in that it belongs to
in its query, and what the user typed in its body. Such a form is refused where the headers of the
browser name a page of another site. A page of an error has a plain sentence and the id of the
request: what only an operator should know is in the log line under that id.

A cookie is valid below the realm alone. Over TLS it is `Secure`, and `SameSite=None` where pages
of clients need it: for the response by form_post, and for frames. In clear, which a realm has to
permit, browsers would reject that, and it is `Lax`. The id of the authentication sessions and the
request for a restart are sealed: a browser can neither make nor read them.
Keycloak: 12.10 authorization, 12.11 cookies, 12.12 login pages; ClientRepresentation; Spec: RFC
6265 §4; attacks: D14
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

import orjson
from starlette.types import Receive, Scope

from gateway.domain.authentication import AuthenticationSession
from gateway.domain.clients import Client
from gateway.domain.errors import (
    Overloaded,
    RealmgateError,
    RealmNotFound,
    SecretUnreadable,
    StoreUnavailable,
)
from gateway.domain.events import EventError, EventType
from gateway.domain.localization import LocalizedText
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.realm import Realm
from gateway.domain.refusals import Forbidden, NotAuthenticated
from gateway.domain.secrets import SecretsAtRest
from gateway.domain.sessions import UserSession
from gateway.http.cross_origin import is_from_own_page
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.forms import FormRefused, parse_form, read_form
from gateway.http.pages import LocalePreferences, Pages, PageVisit, View, supported_locale
from gateway.http.pages.page_values import ShownApplication
from gateway.http.pages.views import ErrorPage
from gateway.http.realm_endpoint import Exemption, GuardedEndpoint, RealmContext
from gateway.http.replies import Headers, Reply
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.browser_sign_in import Browser
from gateway.protocol.errors import OAuthError
from gateway.protocol.identity_cookie import BrowserIdentity, IdentityVerification, issue_identity
from gateway.protocol.requests import Parameters, ProtocolRequest

MOST_VALUES: Final = 4
"""Of one name: more are never looked at. Pages of other hosts can add cookies of the same name."""
_LONGEST_HEADER: Final = 16 * 1024
_VALUE: Final = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*", re.ASCII)
"""Spec: RFC 6265 §4.1.1, cookie-octet."""


class CookieName(StrEnum):
    """The names of all cookies."""

    AUTHENTICATION_SESSION = "AUTH_SESSION_ID"
    RESTART = "KC_RESTART"
    IDENTITY = "KEYCLOAK_IDENTITY"
    SESSION = "KEYCLOAK_SESSION"
    REMEMBER_ME = "KEYCLOAK_REMEMBER_ME"
    LOCALE = "KEYCLOAK_LOCALE"


_READABLE_BY_SCRIPTS: Final = frozenset({CookieName.SESSION})
"""The frame that watches a session compares it. Spec: OpenID Connect Session Management §3.2."""


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie to be set; `lifespan` None lasts as long as the browser runs."""

    name: CookieName
    value: str = field(repr=False)
    lifespan: timedelta | None = None


EXPIRED: Final = {name: Cookie(name, "", timedelta()) for name in CookieName}
"""The cookie that removes one, by its name."""


Cookies = Mapping[str, tuple[str, ...]]
"""Values by name: there are several values where pages of other hosts have added some."""


def read_cookies(header: str | None) -> Cookies:
    """Return the cookies of a header in its order, without malformed ones.

    A name may occur several times: the caller takes the first value that it can verify.
    """
    found: dict[str, tuple[str, ...]] = {}
    if header is None or len(header) > _LONGEST_HEADER:
        return found
    for pair in header.split(";"):
        name, equals, value = pair.strip().partition("=")
        value = value.removeprefix('"').removesuffix('"')
        if equals and _VALUE.fullmatch(value) and len(found.get(name, ())) < MOST_VALUES:
            found[name] = (*found.get(name, ()), value)
    return found


def cookie_headers(request: ProtocolRequest, cookies: Iterable[Cookie]) -> Headers:
    """Return a `Set-Cookie` header for each."""
    path, headers = f"{urlsplit(request.issuer).path}/", []
    for cookie in cookies:
        parts = [f"{cookie.name}={cookie.value}", f"Path={path}"]
        if cookie.lifespan is not None:
            parts.append(f"Max-Age={cookie.lifespan // timedelta(seconds=1)}")
        if cookie.name not in _READABLE_BY_SCRIPTS:
            parts.append("HttpOnly")
        parts += ["Secure", "SameSite=None"] if request.secure else ["SameSite=Lax"]
        headers.append((b"set-cookie", "; ".join(parts).encode("ascii")))
    return tuple(headers)


def client_display(client: Client) -> ShownApplication:
    """Return the client as pages show it."""
    shown = client.display
    return ShownApplication(
        client_id=client.client_id,
        name=shown.name,
        logo_url=shown.logo_uri,
        policy_url=shown.policy_uri,
        terms_url=shown.terms_uri,
        home_url=urljoin(shown.root_url, shown.base_url) if shown.base_url else "",
    )


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


_INVALID: Final = LocalizedText("invalidRequestMessage")
_ERROR_TEXTS: Final[dict[tuple[str, str | None], LocalizedText]] = {
    ("access_denied", "Realm not enabled"): LocalizedText("realmNotEnabledMessage"),
    ("invalid_request", "HTTPS required"): LocalizedText("httpsRequiredMessage"),
}
"""By error and description of refusals that stand in front of every endpoint.

Clients get 403, people a page of status 400. Keycloak: 13 (transport)
"""


_REPEATED_BY_LINKS: Final = frozenset({"GET", "HEAD"})


def error_view(error: Exception, request_id: str, method: str) -> ErrorPage:
    """Return the page of an error, with a way back to the client that it is about.

    A link repeats no form: it would send a GET without what was typed.
    """
    client = client_of(error)
    shown = None if client is None else client_display(client)
    return ErrorPage(
        message=_error_text(error),
        error_id=request_id,
        client=shown,
        may_retry=method in _REPEATED_BY_LINKS and isinstance(error, StoreUnavailable | Overloaded),
    )


def client_of(error: Exception) -> Client | None:
    """Return the client of a page, if it is known."""
    return error.client if isinstance(error, PageError) else None


def page_status(error: Exception, status: int) -> int:
    """Return the status of the page of an error; `status` is the one that a client gets."""
    if isinstance(error, OAuthError) and (error.error, error.description) in _ERROR_TEXTS:
        return HTTPStatus.BAD_REQUEST
    return status


def _error_text(error: Exception) -> LocalizedText:
    match error:
        case PageError():
            return LocalizedText(error.message.key, error.arguments)
        case OAuthError() if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            return LocalizedText("internalServerError")
        case OAuthError():
            return _ERROR_TEXTS.get((error.error, error.description), _INVALID)
        case StoreUnavailable() | Overloaded():
            return LocalizedText("unavailableMessage")
        case Forbidden() | NotAuthenticated():
            return LocalizedText("noAccessMessage")
        case FormRefused() | MethodNotAllowed():
            return _INVALID
    return LocalizedText("internalServerError")


@dataclass(frozen=True, slots=True)
class BrowserRequest:
    """A request of a browser; `form` has the values that the user typed, `is_form` means POST."""

    protocol: ProtocolRequest
    cookies: Cookies = field(repr=False)
    preferences: LocalePreferences
    form: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_form: bool = False


BrowserHandler = Callable[[BrowserRequest, Exchange], Awaitable[Reply]]


class BrowserEndpoint(GuardedEndpoint):
    """An endpoint below /realms/{realm} that browsers show."""

    def __init__(
        self,
        route: str,
        handler: BrowserHandler,
        context: RealmContext,
        pages: PageReplies,
        *,
        methods: tuple[str, ...],
        has_own_forms: bool,
        event: EventType = EventType.LOGIN,
        exempt: tuple[Exemption, ...] = (),
    ) -> None:
        """Take `has_own_forms` for an endpoint that forms of the gateway's pages are sent to.

        `event` is recorded as failed where the realm requires TLS, or is disabled.
        """
        super().__init__(
            route,
            context.directory,
            context.log,
            methods=methods,
            exempt=exempt,
            own_origins=context.origins,
        )
        self._handler = handler
        self._context = context
        self._pages = pages
        self._has_own_forms = has_own_forms
        self._event = event

    async def _note_refusal(
        self, refusal: OAuthError, entry: RealmEntry, exchange: Exchange
    ) -> None:
        await record_refusal(self._context, refusal, entry, exchange, self._event)

    async def _answer(
        self, scope: Scope, receive: Receive, exchange: Exchange, entry: RealmEntry | None
    ) -> Reply:
        if entry is None:
            raise RealmNotFound("the path names no realm")
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        is_post = scope["method"] == "POST"
        is_own_form = is_post and self._has_own_forms
        if is_own_form and not is_from_own_page(exchange.facts, self._own_origins):
            raise _form_of_other_site()
        body = await read_form(receive, exchange.facts.headers.values) if is_post else []
        query_string = scope["query_string"]
        if self._has_own_forms:
            # Scripts read addresses from pages without decoding `&amp;`: Keycloak's parser
            # separates at `;` too (26.7, measured).
            query_string = query_string.replace(b"&amp;", b"&")
        query = parse_form(query_string)
        from_body = is_post and not self._has_own_forms
        names = [name for name, _ in query]
        parameters = (
            Parameters.from_pairs(body, names) if from_body else Parameters.from_pairs(query)
        )
        cookies = read_cookies(exchange.facts.headers.text(b"cookie"))
        request = BrowserRequest(
            protocol=await self._context.request(entry, exchange.facts, parameters),
            cookies=cookies,
            preferences=locale_preferences(exchange, parameters, cookies),
            form=dict(reversed(body)) if self._has_own_forms else {},
            is_form=is_post,
        )
        try:
            reply = await self._handler(request, exchange)
        except OAuthError as refusal:
            self._context.events.refused(request.protocol, refusal)
            raise
        except RealmgateError:
            self._context.events.interrupted(request.protocol)
            raise
        self._context.events.answered(request.protocol)
        return _with_chosen_locale(request, reply) if request.preferences.chosen else reply

    async def _present(self, error: Exception, reply: Reply, exchange: Exchange) -> Reply:
        return await error_page(self._pages, error, reply, exchange)


def _form_of_other_site() -> PageError:
    return PageError(
        PageMessage.invalidRequestMessage,
        event_error=EventError.INVALID_REQUEST,
        status=HTTPStatus.FORBIDDEN,
        reason="a page of another site sent the form",
    )


def _with_chosen_locale(request: BrowserRequest, reply: Reply) -> Reply:
    """Return the reply with the cookie of the language that the user has chosen on a page."""
    settings = request.protocol.realm.realm.localization
    locale = supported_locale(settings, request.preferences.chosen)
    if locale is None:
        return reply
    headers = cookie_headers(request.protocol, (Cookie(CookieName.LOCALE, locale),))
    return replace(reply, headers=(*reply.headers, *headers))


async def record_refusal(
    context: RealmContext,
    refusal: OAuthError,
    entry: RealmEntry,
    exchange: Exchange,
    event: EventType,
) -> None:
    """Record a refusal by the checks of the realm, before the request is read."""
    request = await context.request(entry, exchange.facts, Parameters())
    request.event.kind = event
    context.events.refused(request, refusal)


async def error_page(
    pages: PageReplies, error: Exception, reply: Reply, exchange: Exchange
) -> Reply:
    """Return a page that says what went wrong, with the headers of `reply`.

    A realm that does not exist has no pages.
    """
    if exchange.realm is None:
        return reply
    view = error_view(error, exchange.request_id, exchange.facts.method)
    preferences = locale_preferences(exchange, Parameters())
    status = page_status(error, reply.status)
    realm, client = exchange.realm.realm, client_of(error)
    page = await pages.page(view, realm, preferences, status=status, client=client)
    kept = tuple(header for header in reply.headers if header[0] != b"content-type")
    return Reply(page.status, (*page.headers, *kept), page.body)


def locale_preferences(
    exchange: Exchange, parameters: Parameters, cookies: Cookies | None = None
) -> LocalePreferences:
    """Return the languages that a request asks for; `cookies` are its own, if they were read."""
    headers = exchange.facts.headers
    if cookies is None:
        cookies = read_cookies(headers.text(b"cookie"))
    return LocalePreferences(
        chosen=parameters.get("kc_locale") or "",
        client=parameters.get("ui_locales") or "",
        cookie=next(iter(cookies.get(CookieName.LOCALE, ())), ""),
        browser=headers.text(b"accept-language") or "",
    )


_LONGEST_COOKIE: Final = 3_800
"""Characters: browsers keep 4096 bytes of name, value and attributes."""
_REMEMBERED: Final = timedelta(days=365)
_USERNAME: Final = "username:"
_LONGEST_NAME: Final = 255
_SEALED_FOR: Final = {
    CookieName.AUTHENTICATION_SESSION: "authentication-session",
    CookieName.RESTART: "restart",
}


class BrowserCookies:
    """Reads and writes the cookies of sign-ins."""

    def __init__(self, secrets: SecretsAtRest, identities: IdentityVerification) -> None:
        self._secrets = secrets
        self._identities = identities

    async def read_browser(self, request: BrowserRequest) -> Browser:
        """Return the browser that the cookies describe; raises StoreUnavailable."""
        return Browser(
            session_id=self._unseal(request, CookieName.AUTHENTICATION_SESSION),
            identity=await self.find_identity(request),
            remembered_username=_remembered(request)
            if request.protocol.realm.realm.login.remember_me
            else None,
        )

    async def find_identity(self, request: BrowserRequest) -> BrowserIdentity | None:
        """Return who is signed in: the first identity cookie that holds."""
        for value in request.cookies.get(CookieName.IDENTITY, ()):
            found = await self._identities.find_identity(request.protocol, value)
            if found is not None:
                return found
        return None

    def find_restart_request(self, request: BrowserRequest) -> dict[str, str] | None:
        """Return the request of the last sign-in, as `AuthorizationRequest.stored` wrote it."""
        found = self._unseal(request, CookieName.RESTART)
        document: dict[str, str] | None = None if found is None else orjson.loads(found)
        return document

    def issue_sign_in_cookies(
        self, request: ProtocolRequest, session: AuthenticationSession
    ) -> tuple[Cookie, ...]:
        """Return the cookies of a sign-in that waits for the user."""
        stored = orjson.dumps(dict(session.request)).decode()
        named = self._sealed(request, CookieName.AUTHENTICATION_SESSION, session.id)
        restart = self._sealed(request, CookieName.RESTART, stored)
        return (named, restart) if len(restart.value) <= _LONGEST_COOKIE else (named,)

    def issue_session_cookies(
        self,
        request: ProtocolRequest,
        session: UserSession,
        remember: str | None,
        session_id: str | None,
    ) -> tuple[Cookie, ...]:
        """Return the cookies of a session that was begun; `remember` "" forgets the user name.

        `session_id` is the new id of the sign-ins in other tabs, None where it has not changed.
        """
        issued = issue_identity(request.realm, request.issuer, session, request.now)
        cookies = [
            Cookie(CookieName.IDENTITY, issued.identity, issued.max_age),
            Cookie(CookieName.SESSION, issued.session, issued.session_max_age),
            EXPIRED[CookieName.RESTART],
        ]
        if remember:
            name = f"{_USERNAME}{quote(remember, safe='')}"
            cookies.append(Cookie(CookieName.REMEMBER_ME, name, _REMEMBERED))
        elif remember is not None:
            cookies.append(EXPIRED[CookieName.REMEMBER_ME])
        if session_id is not None:
            cookies.append(self._sealed(request, CookieName.AUTHENTICATION_SESSION, session_id))
        return tuple(cookies)

    def _sealed(self, request: ProtocolRequest, name: CookieName, text: str) -> Cookie:
        context = f"{_SEALED_FOR[name]}:{request.realm.realm.id}"
        return Cookie(name, self._secrets.seal(text, context))

    def _unseal(self, request: BrowserRequest, name: CookieName) -> str | None:
        """Return the first value of a cookie that a gateway has sealed for the realm."""
        context = f"{_SEALED_FOR[name]}:{request.protocol.realm.realm.id}"
        for value in request.cookies.get(name, ()):
            with suppress(SecretUnreadable):
                return self._secrets.unseal(value, context)
        return None


def signed_out() -> tuple[Cookie, ...]:
    """Return the cookies that remove those of a signed-in user, and of sign-ins."""
    names = CookieName.IDENTITY, CookieName.SESSION, CookieName.AUTHENTICATION_SESSION
    return tuple(EXPIRED[name] for name in (*names, CookieName.RESTART))


def _remembered(request: BrowserRequest) -> str | None:
    for value in request.cookies.get(CookieName.REMEMBER_ME, ()):
        name = unquote(value.removeprefix(_USERNAME))
        if value.startswith(_USERNAME) and 0 < len(name) <= _LONGEST_NAME and name.isprintable():
            return name
    return None


_CHECKER: Final = "stateChecker"
_LONGEST_TOKEN: Final = 1024


class FormTokens:
    """Issues and checks the secrets of forms that a signed-in user sends (attacks: D14).

    A token is valid for the pages of one `room`, and for the session that its page was shown in.
    """

    def __init__(self, secrets: SecretsAtRest, room: str) -> None:
        self._secrets = secrets
        self._room = room

    def issue(self, request: BrowserRequest, identity: BrowserIdentity) -> str:
        """Return the value of the hidden field `stateChecker`."""
        return self._secrets.seal(self._room, self._context(request, identity))

    def holds(self, request: BrowserRequest, identity: BrowserIdentity) -> bool:
        """Tell whether the form of the request carries the secret of this session."""
        sent = request.form.get(_CHECKER, "")
        if not sent or len(sent) > _LONGEST_TOKEN:
            return False
        try:
            self._secrets.unseal(sent, self._context(request, identity))
        except SecretUnreadable:
            return False
        return True

    def _context(self, request: BrowserRequest, identity: BrowserIdentity) -> str:
        realm = request.protocol.realm.realm.id
        return f"{self._room}:{realm}:{identity.session.id}:{identity.state_checker}"
