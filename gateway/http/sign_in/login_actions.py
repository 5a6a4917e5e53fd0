"""/realms/{realm}/login-actions: the forms and links of the pages of a sign-in.

The cookie names the browser's sign-ins, the query the tab. A form of a sign-in that has ended
leads back to the client, or begins the sign-in again. Keycloak: 12.11, 12.12
"""

from collections.abc import Awaitable, Callable
from functools import partial

from gateway.domain.authentication import AuthenticationSession
from gateway.domain.flows import FlowUse
from gateway.domain.ports.sign_in.authentication_sessions import AuthenticationSessionStore
from gateway.http.exchange import Exchange
from gateway.http.replies import Reply
from gateway.http.sign_in.action_urls import read_client_data
from gateway.http.sign_in.browser_cookies import BrowserCookies
from gateway.http.sign_in.browser_endpoint import BrowserRequest
from gateway.http.sign_in.outcome_replies import OutcomeReplies
from gateway.protocol.account_console import account_result
from gateway.protocol.authorization import RedirectError
from gateway.protocol.browser_sign_in import Browser, BrowserSignIn, Outcome, Respond

_Action = Callable[[BrowserRequest, AuthenticationSession, Browser], Awaitable[Outcome]]


class LoginActions:
    """The handlers of the actions."""

    def __init__(
        self,
        sign_in: BrowserSignIn,
        sign_ins: AuthenticationSessionStore,
        cookies: BrowserCookies,
        replies: OutcomeReplies,
    ) -> None:
        self._sign_in = sign_in
        self._sign_ins = sign_ins
        self._cookies = cookies
        self._replies = replies

    async def authenticate(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Take a form; without a `session_code` show the page that waits for the user."""
        return await self._act(request, exchange, self._authenticate)

    async def register(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Take the form of registration, or go on with it in this tab."""
        return await self._act(request, exchange, partial(self._switch, use=FlowUse.REGISTRATION))

    async def reset_credentials(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Take a form of the reset of credentials, or go on with it in this tab."""
        use = FlowUse.RESET_CREDENTIALS
        return await self._act(request, exchange, partial(self._switch, use=use))

    async def restart(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Begin the sign-in of a tab again."""
        return await self._act(request, exchange, self._restart)

    async def consent(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Take the user's answer to what the client asks for."""
        return await self._act(request, exchange, self._consent)

    async def _act(self, request: BrowserRequest, exchange: Exchange, action: _Action) -> Reply:
        browser = await self._cookies.browser(request)
        exchange.log.client = request.protocol.parameters.get("client_id")
        try:
            session = await self._session(request, browser)
            if session is None:
                outcome = await self._without_session(request, browser)
            else:
                outcome = await action(request, session, browser)
        except RedirectError as refusal:
            return await self._replies.refused(request, exchange, refusal)
        return await self._replies.reply(request, exchange, outcome)

    async def _session(
        self, request: BrowserRequest, browser: Browser
    ) -> AuthenticationSession | None:
        """Return the sign-in of the tab in the query, if it is one of this browser."""
        tab = request.protocol.parameters.get("tab_id")
        if tab is None or browser.session_id is None:
            return None
        return await self._sign_ins.find(request.protocol.realm.realm.id, browser.session_id, tab)

    async def _without_session(self, request: BrowserRequest, browser: Browser) -> Outcome:
        data = read_client_data(request.protocol.parameters.get("client_data"))
        result = account_result(data)
        if result is not None and browser.identity is not None:
            return Respond(result)
        return await self._sign_in.after_end(request.protocol, browser, data)

    async def _authenticate(
        self, request: BrowserRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        if request.is_form:
            return await self._sign_in.submit(request.protocol, session, browser, request.form)
        return await self._sign_in.show(request.protocol, session, browser)

    async def _switch(
        self,
        request: BrowserRequest,
        session: AuthenticationSession,
        browser: Browser,
        *,
        use: FlowUse,
    ) -> Outcome:
        if request.is_form:
            return await self._sign_in.submit(request.protocol, session, browser, request.form)
        return await self._sign_in.switch(request.protocol, session, browser, use)

    async def _restart(
        self, request: BrowserRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        return await self._sign_in.restart(request.protocol, session, browser)

    async def _consent(
        self, request: BrowserRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        if not request.is_form:
            return await self._sign_in.show(request.protocol, session, browser)
        accepted = "accept" in request.form and "cancel" not in request.form
        return await self._sign_in.decide(request.protocol, session, browser, accepted=accepted)
