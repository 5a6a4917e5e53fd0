"""The account console: the signed-in user, the secret of its forms, its messages and its URLs.

Signed in is a browser with a live session in which the client of the console takes part. Any other
one goes through the realm's browser flow: with a session it comes back at once, unless the user has
something to do before.

The secret of the forms is sealed for the session of the browser, so it ends with that: only pages
that this user was shown can send them. The URL of a page names its message, which a reload shows
again; no decision depends on it. The API of accounts has some of the same URLs: it answers what
names JSON, and this what does not. Keycloak: 12.11 cookies, 16.1 required actions, 17.7 account
console; attacks: D14
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from http import HTTPStatus
from typing import ClassVar, Final
from urllib.parse import urlencode

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from gateway.accounts.access import AccountAccess, AccountCaller, AccountRole
from gateway.domain.clients import Client
from gateway.domain.events import EventError, EventType
from gateway.domain.localization import LocalizedText
from gateway.domain.ports.lookups import ClientEntry
from gateway.domain.refusals import NotAuthenticated
from gateway.domain.sessions import has_lasting_part
from gateway.http.browser import (
    BrowserCookies,
    BrowserEndpoint,
    BrowserHandler,
    BrowserRequest,
    FormTokens,
    PageReplies,
)
from gateway.http.exchange import Exchange
from gateway.http.logout import BrowserLogoutHandler
from gateway.http.pages.account_views import AccountFrame, AccountIcon, AccountLink, AccountView
from gateway.http.pages.page_values import Message, MessageKind
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import NOT_KEPT, Reply
from gateway.http.sign_in.replies import OutcomeReplies, account_url
from gateway.protocol.account_console import (
    AccountPage,
    ConsoleClients,
    account_page,
    account_visit,
)
from gateway.protocol.authorization import PageError, PageMessage, invalid_request_page
from gateway.protocol.browser_sign_in import BrowserSignIn
from gateway.protocol.identity_cookie import BrowserIdentity
from gateway.protocol.requests import Parameters
from gateway.protocol.sessions import Sessions

ACTION: Final = "action"
SIGN_OUT: Final = "sign-out"


def action_url(issuer: str, page: AccountPage, action: str, **parameters: str) -> str:
    """Return the link that begins a required action and leads back to the page."""
    query = urlencode({"kc_action": action, "page": page.value, **parameters})
    return f"{issuer}/account/{ACTION}?{query}"


def sign_out_url(issuer: str) -> str:
    """Return where the form "Sign out" is sent to."""
    return f"{issuer}/account/{SIGN_OUT}"


class Notice(StrEnum):
    """What was changed: the value of the parameter `notice`."""

    UPDATED = "updated"
    SIGNED_OUT = "signed-out"
    OTHERS_SIGNED_OUT = "others-signed-out"
    CONSENT_REMOVED = "consent-removed"
    FORM_EXPIRED = "form-expired"


_SUCCESS, _INFO = MessageKind.SUCCESS, MessageKind.INFO
_MESSAGES: Final = {
    Notice.UPDATED: Message(LocalizedText("accountUpdatedMessage"), _SUCCESS),
    Notice.SIGNED_OUT: Message(LocalizedText("accountSignedOutMessage"), _SUCCESS),
    Notice.OTHERS_SIGNED_OUT: Message(LocalizedText("accountOthersSignedOutMessage"), _SUCCESS),
    Notice.CONSENT_REMOVED: Message(LocalizedText("accountConsentRemovedMessage"), _SUCCESS),
    Notice.FORM_EXPIRED: Message(LocalizedText("accountFormExpiredMessage"), MessageKind.WARNING),
}
_OF_ACTIONS: Final = {
    "success": _MESSAGES[Notice.UPDATED],
    "cancelled": Message(LocalizedText("accountActionCancelledMessage"), _INFO),
    "error": Message(LocalizedText("accountActionFailedMessage")),
}
"""By `kc_action_status`."""


def message_of(parameters: Parameters) -> Message | None:
    """Return the message that the URL of a page names, if any."""
    notice = parameters.get("notice")
    if notice in set(Notice):
        return _MESSAGES[Notice(notice)]
    return _OF_ACTIONS.get(parameters.get("kc_action_status") or "")


@dataclass(frozen=True, slots=True)
class Visitor:
    """The signed-in user, and the frame of the page; `form` is what was sent, empty for a GET."""

    caller: AccountCaller
    frame: AccountFrame
    form: Mapping[str, str] = field(default_factory=dict, repr=False)

    def url(self, page: AccountPage) -> str:
        return account_url(self.caller.request.issuer, page)

    def action_url(self, page: AccountPage, action: str) -> str:
        """Return the link that begins a required action and leads back to the page."""
        return action_url(self.caller.request.issuer, page, action)


class PageHandler(ABC):
    """One page of the console. Methods raise AdminRefusal, InvalidInput and StoreUnavailable."""

    page: ClassVar[AccountPage]
    name: ClassVar[str]
    """The key of its text in the navigation."""
    icon: ClassVar[AccountIcon]
    within: ClassVar[AccountPage | None] = None
    """The page that leads to this one, which has no link in the navigation."""
    roles: ClassVar[tuple[AccountRole, ...]]
    """The user needs one of them."""

    @abstractmethod
    async def show(self, visitor: Visitor, message: Message | None) -> AccountView:
        """Return the page."""

    async def change(
        self,
        visitor: Visitor,  # noqa: ARG002 - this page has no form
    ) -> Notice | AccountView | None:
        """Take the form: return the change, the page with what is wrong, or None."""
        return None


_REFRESHED_AFTER: Final = timedelta(minutes=1)
"""Age of the last refresh from which a visit moves the idle timeout of the session."""


class Console:
    """Lets users in, shows the pages and takes their forms."""

    def __init__(
        self,
        *,
        access: AccountAccess,
        clients: ConsoleClients,
        sessions: Sessions,
        cookies: BrowserCookies,
        sign_in: BrowserSignIn,
        forms: FormTokens,
        replies: OutcomeReplies,
        pages: PageReplies,
        handlers: Iterable[PageHandler],
    ) -> None:
        self._access = access
        self._clients = clients
        self._sessions = sessions
        self._cookies = cookies
        self._sign_in = sign_in
        self._forms = forms
        self._replies = replies
        self._pages = pages
        self.handlers = tuple(handlers)

    async def page(
        self, handler: PageHandler, request: BrowserRequest, exchange: Exchange
    ) -> Reply:
        """Answer a request to a page: show it, or take its form."""
        client = await self._clients.find_console(request.protocol)
        identity = await self.identity(request, client)
        if identity is None and request.is_form:
            return self.see_other(request, handler.page)
        if identity is None:
            return await self.begin(request, exchange, client, handler.page)
        caller = await self._caller(request, identity)
        exchange.log.user = caller.user_id
        caller.require(*handler.roles)
        await self._refresh(request, identity, client)
        if request.is_form and not self._forms.holds(request, identity):
            return self.see_other(request, handler.page, Notice.FORM_EXPIRED)
        current = handler.within or handler.page
        frame = self._frame(request, identity, caller, current)
        visitor = Visitor(caller, frame, request.form)
        result: Notice | AccountView | None = None
        if request.is_form:
            result = await handler.change(visitor)
        if isinstance(result, Notice):
            return self.see_other(request, handler.page, result)
        message = message_of(request.protocol.parameters)
        view = await handler.show(visitor, message) if result is None else result
        return await self._shown(request, caller, client.client, handler.page, view)

    async def identity(
        self, request: BrowserRequest, client: ClientEntry
    ) -> BrowserIdentity | None:
        """Return the user who is signed in to the console."""
        identity = await self._cookies.find_identity(request)
        if identity is None:
            return None
        realm, now = request.protocol.realm.realm, request.protocol.now
        lasts = has_lasting_part(realm, identity.session, client.client, now)
        return identity if lasts else None

    async def begin(
        self,
        request: BrowserRequest,
        exchange: Exchange,
        client: ClientEntry,
        page: AccountPage,
        *,
        action: str | None = None,
        parameter: str | None = None,
    ) -> Reply:
        """Begin the sign-in that leads to a page, with an action to perform before."""
        protocol = request.protocol
        exchange.log.client = client.client.client_id
        visit = account_visit(protocol.realm, client, page, action, parameter)
        browser = await self._cookies.read_browser(request)
        outcome = await self._sign_in.begin(protocol, visit, browser)
        return await self._replies.reply(request, exchange, outcome)

    def see_other(
        self, request: BrowserRequest, page: AccountPage, notice: Notice | None = None
    ) -> Reply:
        """Send the browser to a page, so that a reload sends no form again."""
        url = account_url(request.protocol.issuer, page, notice=notice or "")
        return Reply(HTTPStatus.SEE_OTHER, ((b"location", url.encode("ascii")), *NOT_KEPT))

    async def _caller(self, request: BrowserRequest, identity: BrowserIdentity) -> AccountCaller:
        try:
            return await self._access.by_session(request.protocol, identity.session)
        except NotAuthenticated as error:
            # Another sign-in would join the same session and lead here again.
            raise PageError(
                PageMessage.noAccessMessage,
                event_error=EventError.ACCESS_DENIED,
                status=HTTPStatus.FORBIDDEN,
                reason=str(error),
            ) from error

    async def _refresh(
        self, request: BrowserRequest, identity: BrowserIdentity, client: ClientEntry
    ) -> None:
        """Move the idle timeout of the session, as the tokens of an application do."""
        session, protocol = identity.session, request.protocol
        last = session.clients[client.client.id].refreshed_at
        if protocol.now - last >= _REFRESHED_AFTER:
            realm = protocol.realm.realm
            await self._sessions.refresh(realm, session, client.client, protocol.now)

    def _frame(
        self,
        request: BrowserRequest,
        identity: BrowserIdentity,
        caller: AccountCaller,
        current: AccountPage,
    ) -> AccountFrame:
        user, issuer = caller.user.user, request.protocol.issuer
        links = tuple(
            AccountLink(
                handler.name,
                account_url(issuer, handler.page),
                handler.icon,
                handler.page is current,
            )
            for handler in self.handlers
            if handler.within is None and caller.has(*handler.roles)
        )
        return AccountFrame(
            username=user.username,
            full_name=" ".join(filter(None, (user.first_name, user.last_name))),
            links=links,
            sign_out_url=sign_out_url(issuer),
            token=self._forms.issue(request, identity),
        )

    async def _shown(
        self,
        request: BrowserRequest,
        caller: AccountCaller,
        client: Client,
        page: AccountPage,
        view: AccountView,
    ) -> Reply:
        preferences = replace(request.preferences, user=caller.user.user.locale)
        url = account_url(request.protocol.issuer, page)
        realm = request.protocol.realm.realm
        theme = realm.account_theme
        return await self._pages.page(view, realm, preferences, client=client, theme=theme, url=url)


_ACTION: Final = re.compile(r"([A-Za-z0-9_-]{1,64})(?::([A-Za-z0-9_-]{1,64}))?")


class AccountActions:
    """The handlers."""

    def __init__(
        self,
        console: Console,
        clients: ConsoleClients,
        forms: FormTokens,
        logout: BrowserLogoutHandler,
    ) -> None:
        self._console = console
        self._clients = clients
        self._forms = forms
        self._logout = logout

    async def begin(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Begin a required action, after which the browser is back on the page."""
        sent = request.protocol.parameters
        named = _ACTION.fullmatch(sent.get("kc_action") or "")
        page = account_page(sent.get("page") or "")
        if named is None or page is None:
            raise invalid_request_page("no action, or no page of the console")
        client = await self._clients.find_console(request.protocol)
        action, parameter = named.groups()
        return await self._console.begin(
            request, exchange, client, page, action=action, parameter=parameter
        )

    async def sign_out(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """End the session of the browser."""
        client = await self._clients.find_console(request.protocol)
        identity = await self._console.identity(request, client)
        if identity is None:
            return self._console.see_other(request, AccountPage.HOME)
        if not self._forms.holds(request, identity):
            raise PageError(
                PageMessage.failedLogout,
                event_error=EventError.INVALID_REQUEST,
                status=HTTPStatus.FORBIDDEN,
                client=client.client,
            )
        return await self._logout.end(request, exchange, identity, client.client.client_id)


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
        if handler.page is AccountPage.HOME:
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
