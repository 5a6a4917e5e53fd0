"""The endpoints of a browser sign-in: the authorization endpoint, login-actions, links of mails.

`registrations` begins with the page of registration, `forgot-credentials` with that of recovery.
The cookie names the browser's sign-ins, the query the tab. A form of a sign-in that has ended
leads back to the client, or begins the sign-in again.

GET of a link shows what will happen, with one button; POST does it. The form has the key in its
body, and no page of a link names its URL to another site (`Referrer-Policy`).
Spec: RFC 6749 §4.1.1, Initiating User Registration via OpenID Connect 1.0;
Keycloak: 12.10 authorization, 12.11 cookies, 12.12 login pages
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from starlette.routing import BaseRoute, Route

from gateway.domain.authentication import AuthenticationSession
from gateway.domain.events import EventType
from gateway.domain.flows import FlowUse
from gateway.domain.localization import LocalizedText
from gateway.domain.ports.sign_in import AuthenticationSessionStore
from gateway.domain.realm import SecurityHeaders
from gateway.http.browser import (
    BrowserCookies,
    BrowserEndpoint,
    BrowserHandler,
    BrowserRequest,
    PageReplies,
    client_display,
)
from gateway.http.exchange import Exchange
from gateway.http.pages.views import ConfirmLinkPage
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply
from gateway.http.sign_in.device_pages import DevicePages
from gateway.http.sign_in.replies import (
    ACTION_TOKEN,
    AUTHENTICATE,
    CONSENT,
    REGISTRATION,
    REQUIRED_ACTION,
    RESET_CREDENTIALS,
    RESTART,
    OutcomeReplies,
    read_client_data,
)
from gateway.protocol.account_console import account_result
from gateway.protocol.action_tokens import ActionTokenEndpoint, Confirmation
from gateway.protocol.authorization import AuthorizationEndpoint, Prompt, RedirectError
from gateway.protocol.browser_sign_in import Browser, BrowserSignIn, Outcome, Respond


@dataclass(frozen=True, slots=True)
class AuthorizationHandler:
    """Begins a sign-in for a client, or replies at once where the browser is signed in."""

    _endpoint: AuthorizationEndpoint
    _sign_in: BrowserSignIn
    _cookies: BrowserCookies
    _replies: OutcomeReplies

    async def begin(
        self, request: BrowserRequest, exchange: Exchange, use: FlowUse = FlowUse.SIGN_IN
    ) -> Reply:
        """Begin with the page of `use`; `prompt=create` replaces it by registration."""
        try:
            asked = await self._endpoint.check_request(request.protocol)
            exchange.log.client = asked.client.client.client_id
            browser = await self._cookies.read_browser(request)
            if Prompt.CREATE in asked.prompt:
                use = FlowUse.REGISTRATION
            outcome = await self._sign_in.begin(request.protocol, asked, browser, use)
        except RedirectError as refusal:
            return await self._replies.refused(request, exchange, refusal)
        return await self._replies.reply(request, exchange, outcome)


@dataclass(frozen=True, slots=True)
class LoginActions:
    """Handles forms and links of sign-in pages."""

    _sign_in: BrowserSignIn
    _sign_ins: AuthenticationSessionStore
    _cookies: BrowserCookies
    _replies: OutcomeReplies

    async def act(self, request: BrowserRequest, exchange: Exchange, action: str) -> Reply:
        """Perform an action in the sign-in of a tab, or say that the sign-in has ended."""
        browser = await self._cookies.read_browser(request)
        exchange.log.client = request.protocol.parameters.get("client_id")
        tab, session = request.protocol.parameters.get("tab_id"), None
        try:
            if tab is not None and browser.session_id is not None:
                realm_id = request.protocol.realm.realm.id
                session = await self._sign_ins.find_tab(realm_id, browser.session_id, tab)
            if session is None:
                outcome = await self._without_session(request, browser)
            else:
                outcome = await self._in_session(request, session, browser, action)
        except RedirectError as refusal:
            return await self._replies.refused(request, exchange, refusal)
        return await self._replies.reply(request, exchange, outcome)

    async def _without_session(self, request: BrowserRequest, browser: Browser) -> Outcome:
        data = read_client_data(request.protocol.parameters.get("client_data"))
        result = account_result(data)
        if result is not None and browser.identity is not None:
            return Respond(result)
        return await self._sign_in.after_end(
            request.protocol,
            browser,
            restart=self._cookies.find_restart_request(request),
            client_data=data,
        )

    async def _in_session(
        self,
        request: BrowserRequest,
        session: AuthenticationSession,
        browser: Browser,
        action: str,
    ) -> Outcome:
        """Restart, decide about consent, take a form, switch to another flow, or show the page."""
        sign_in, tab = self._sign_in, (request.protocol, session, browser)
        if action == RESTART:
            return await sign_in.restart(*tab)
        if action == CONSENT and request.is_form:
            accepted = "accept" in request.form and "cancel" not in request.form
            return await sign_in.decide(*tab, accepted=accepted)
        if request.is_form:
            return await sign_in.submit(*tab, request.form)
        if action in {REGISTRATION, RESET_CREDENTIALS}:
            return await sign_in.switch(*tab, FlowUse(action))
        return await sign_in.show_page(*tab)


_KEY: Final = "key"
_REFERRER_POLICY: Final = ("referrerPolicy", "no-referrer")
"""Whatever the realm sets: the URL of the page is a secret."""


@dataclass(frozen=True, slots=True)
class ActionTokenPages:
    """The handler of links."""

    _endpoint: ActionTokenEndpoint
    _cookies: BrowserCookies
    _replies: OutcomeReplies
    _pages: PageReplies

    async def __call__(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        headers = exchange.security_headers or SecurityHeaders()
        exchange.security_headers = headers.with_value(*_REFERRER_POLICY)
        exchange.log.client = request.protocol.parameters.get("client_id")
        browser = await self._cookies.read_browser(request)
        key = request.protocol.parameters.get(_KEY)
        if not request.is_form:
            found = await self._endpoint.confirm(request.protocol, key, browser)
            return await self._confirm(request, found, key or "")
        key = request.form.get(_KEY) or key
        try:
            outcome = await self._endpoint.act(request.protocol, key, browser)
        except RedirectError as refusal:
            return await self._replies.refused(request, exchange, refusal)
        return await self._replies.reply(request, exchange, outcome)

    async def _confirm(self, request: BrowserRequest, found: Confirmation, key: str) -> Reply:
        url = f"{request.protocol.issuer}/login-actions/{ACTION_TOKEN}"
        view = ConfirmLinkPage(
            action=url,
            key=key,
            message=LocalizedText(found.message, found.arguments),
            actions=found.actions,
            client=client_display(found.client),
        )
        return await self._pages.page(
            view,
            request.protocol.realm.realm,
            replace(request.preferences, user=found.locale),
            client=found.client,
            url=f"{url}?{_KEY}={key}",
        )


_REALM: Final = "/realms/{realm}"
_GET: Final = ("GET", "HEAD")
_FORM: Final = ("GET", "HEAD", "POST")
_DEVICE: Final = EventType.OAUTH2_DEVICE_VERIFY_USER_CODE


@dataclass(frozen=True, slots=True)
class SignInEndpoints:
    """The handlers of the URLs, and the renderer of their pages."""

    authorization: AuthorizationHandler
    actions: LoginActions
    links: ActionTokenPages
    devices: DevicePages
    pages: PageReplies


def build_sign_in_routes(handlers: SignInEndpoints, context: RealmContext) -> list[BaseRoute]:
    """Return the URLs of sign-ins."""
    forms = (AUTHENTICATE, REQUIRED_ACTION, CONSENT, REGISTRATION, RESET_CREDENTIALS)
    own = [
        _route(
            f"{_REALM}/login-actions/{action}",
            partial(handlers.actions.act, action=action),
            handlers,
            context,
            _GET if action == RESTART else _FORM,
        )
        for action in (*forms, RESTART)
    ]
    devices = handlers.devices
    own += [
        _route(f"{_REALM}/device", devices.code, handlers, context, _FORM, event=_DEVICE),
        _route(f"{_REALM}/device/status", devices.status, handlers, context, _GET, event=_DEVICE),
    ]
    own.append(
        _route(
            f"{_REALM}/login-actions/{ACTION_TOKEN}",
            handlers.links,
            handlers,
            context,
            _FORM,
            event=EventType.EXECUTE_ACTION_TOKEN,
        )
    )
    begins = {
        "auth": FlowUse.SIGN_IN,
        "registrations": FlowUse.REGISTRATION,
        "forgot-credentials": FlowUse.RESET_CREDENTIALS,
    }
    return [
        *(
            _route(
                f"{_REALM}/protocol/openid-connect/{name}",
                partial(handlers.authorization.begin, use=use),
                handlers,
                context,
                _FORM,
                has_own_forms=False,
            )
            for name, use in begins.items()
        ),
        *own,
    ]


def _route(
    path: str,
    handler: BrowserHandler,
    handlers: SignInEndpoints,
    context: RealmContext,
    methods: tuple[str, ...],
    *,
    event: EventType = EventType.LOGIN,
    has_own_forms: bool = True,
) -> Route:
    endpoint = BrowserEndpoint(
        path,
        handler,
        context,
        handlers.pages,
        methods=methods,
        has_own_forms=has_own_forms,
        event=event,
    )
    return Route(path, endpoint)
