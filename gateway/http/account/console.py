"""The entry to the account console: the signed-in user, the form's secret, and the reply.

Signed in is a browser with a live session in which the client of the console takes part. Any other
one goes through the realm's browser flow: with a session it comes back at once, unless the user has
something to do before. Keycloak: 12.11, 17.7
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from gateway.accounts.access import AccountAccess, AccountCaller
from gateway.admin.access import NotAuthenticated
from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.domain.ports.directory import ClientEntry
from gateway.domain.sessions import has_lasting_part
from gateway.http.account.forms import FormTokens
from gateway.http.account.notices import Notice, message_of
from gateway.http.account.urls import sign_out_url
from gateway.http.account.visitor import PageHandler, Visitor
from gateway.http.exchange import Exchange
from gateway.http.pages.account_views import AccountFrame, AccountLink, AccountView
from gateway.http.replies import NOT_KEPT, Reply
from gateway.http.sign_in.account_urls import account_url
from gateway.http.sign_in.browser_cookies import BrowserCookies
from gateway.http.sign_in.browser_endpoint import BrowserRequest
from gateway.http.sign_in.outcome_replies import OutcomeReplies
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.account_console import AccountPage, ConsoleClients, account_visit
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.browser_sign_in import BrowserSignIn
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_results.identity_cookie import Identity

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
        client = await self._clients.find(request.protocol)
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

    async def identity(self, request: BrowserRequest, client: ClientEntry) -> Identity | None:
        """Return the user who is signed in to the console."""
        identity = await self._cookies.identity(request)
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
        browser = await self._cookies.browser(request)
        outcome = await self._sign_in.begin_for_account(protocol, visit, browser)
        return await self._replies.reply(request, exchange, outcome)

    def see_other(
        self, request: BrowserRequest, page: AccountPage, notice: Notice | None = None
    ) -> Reply:
        """Send the browser to a page, so that a reload sends no form again."""
        url = account_url(request.protocol.issuer, page, notice=notice or "")
        return Reply(HTTPStatus.SEE_OTHER, ((b"location", url.encode("ascii")), *NOT_KEPT))

    async def _caller(self, request: BrowserRequest, identity: Identity) -> AccountCaller:
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
        self, request: BrowserRequest, identity: Identity, client: ClientEntry
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
        identity: Identity,
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
