"""An endpoint whose responses a person sees: its errors are pages.

A GET is read from the query. A POST to the authorization endpoint is read from its body; a name of
its query that is in the body too comes twice. A form of a page has the sign-in that it belongs to
in its query, and what the user typed in its body.
Such a form is refused where the headers of the browser name a page of another site.
Keycloak: 12.10, 12.12; attacks: D14
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from starlette.types import Receive, Scope

from gateway.domain.errors import RealmgateError, RealmNotFound
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.directory import RealmEntry
from gateway.http.cross_site_forms import is_from_own_page
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.form import is_form, parse_form, read_body
from gateway.http.guarded_endpoint import Exemption, GuardedEndpoint
from gateway.http.pages import LocalePreferences, supported_locale
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply
from gateway.http.sign_in.cookies import Cookie, CookieName, cookie_headers, read_cookies
from gateway.http.sign_in.error_pages import client_of, error_view, page_status
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.errors import OAuthError
from gateway.protocol.parameters import Parameters
from gateway.protocol.requests import ProtocolRequest


@dataclass(frozen=True, slots=True)
class BrowserRequest:
    """A request of a browser. `form` is what the user typed; `is_form` tells a POST from a GET."""

    protocol: ProtocolRequest
    cookies: Mapping[str, tuple[str, ...]] = field(repr=False)
    preferences: LocalePreferences
    form: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_form: bool = False

    def cookie(self, name: CookieName) -> tuple[str, ...]:
        """Return the values of a cookie: several where pages of other hosts have added some."""
        return self.cookies.get(name, ())


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
        super().__init__(route, context.directory, context.log, methods=methods, exempt=exempt)
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
        if scope["method"] == "POST" and self._has_own_forms:
            self._require_own_page(exchange)
        body = await self._body(scope, receive, exchange)
        query = parse_form(scope["query_string"])
        from_body = scope["method"] == "POST" and not self._has_own_forms
        names = [name for name, _ in query]
        parameters = Parameters.of(body, names) if from_body else Parameters.of(query)
        request = BrowserRequest(
            protocol=await self._context.request(entry, exchange.facts, parameters),
            cookies=read_cookies(exchange.facts.headers.text(b"cookie")),
            preferences=locale_preferences(exchange, parameters),
            form=dict(reversed(body)) if self._has_own_forms else {},
            is_form=scope["method"] == "POST",
        )
        return await self._recorded(request, exchange)

    def _require_own_page(self, exchange: Exchange) -> None:
        """Raise PageError for a form of another site, by `Origin` and `Sec-Fetch-Site`."""
        if not is_from_own_page(exchange.facts, self._context.origins):
            raise PageError(
                PageMessage.invalidRequestMessage,
                event_error=EventError.INVALID_REQUEST,
                status=HTTPStatus.FORBIDDEN,
                reason="a page of another site sent the form",
            )

    async def _recorded(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        try:
            reply = await self._handler(request, exchange)
        except OAuthError as refusal:
            self._context.events.refused(request.protocol, refusal)
            raise
        except RealmgateError:
            self._context.events.interrupted(request.protocol)
            raise
        self._context.events.answered(request.protocol)
        return _with_chosen_locale(request, reply)

    async def _body(
        self, scope: Scope, receive: Receive, exchange: Exchange
    ) -> list[tuple[str, str]]:
        if scope["method"] != "POST":
            return []
        sent = exchange.facts.headers.values
        body = await read_body(receive, sent.get(b"content-length"))
        return parse_form(body) if is_form(sent.get(b"content-type")) else []

    async def _present(self, error: Exception, reply: Reply, exchange: Exchange) -> Reply:
        return await error_page(self._pages, error, reply, exchange)


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
    request.event.begin(event)
    context.events.refused(request, refusal)


async def error_page(
    pages: PageReplies, error: Exception, reply: Reply, exchange: Exchange
) -> Reply:
    """Return a page that says what went wrong, with the headers of `reply`.

    A realm that does not exist has no pages.
    """
    if exchange.realm is None:
        return reply
    view = error_view(error, exchange.request_id)
    preferences = locale_preferences(exchange, Parameters())
    status = page_status(error, reply.status)
    realm, client = exchange.realm.realm, client_of(error)
    page = await pages.page(view, realm, preferences, status=status, client=client)
    kept = tuple(header for header in reply.headers if header[0] != b"content-type")
    return Reply(page.status, (*page.headers, *kept), page.body)


def locale_preferences(exchange: Exchange, parameters: Parameters) -> LocalePreferences:
    """Return the languages that a request asks for."""
    headers = exchange.facts.headers
    cookies = read_cookies(headers.text(b"cookie")).get(CookieName.LOCALE, ())
    return LocalePreferences(
        chosen=parameters.get("kc_locale") or "",
        client=parameters.get("ui_locales") or "",
        cookie=cookies[0] if cookies else "",
        browser=headers.text(b"accept-language") or "",
    )
