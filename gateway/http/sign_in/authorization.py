"""GET and POST /realms/{realm}/protocol/openid-connect/auth, and two endpoints like it.

`registrations` begins with the page of registration, `forgot-credentials` with that of recovery.

Spec: RFC 6749 §4.1.1, Initiating User Registration via OpenID Connect 1.0; Keycloak: 12.10
"""

from gateway.domain.flows import FlowUse
from gateway.http.exchange import Exchange
from gateway.http.replies import Reply
from gateway.http.sign_in.browser_cookies import BrowserCookies
from gateway.http.sign_in.browser_endpoint import BrowserRequest
from gateway.http.sign_in.outcome_replies import OutcomeReplies
from gateway.protocol.authorization import AuthorizationEndpoint, Prompt, RedirectError
from gateway.protocol.browser_sign_in import BrowserSignIn


class AuthorizationHandler:
    """Begins a sign-in, or answers at once where the browser is signed in."""

    def __init__(
        self,
        endpoint: AuthorizationEndpoint,
        sign_in: BrowserSignIn,
        cookies: BrowserCookies,
        replies: OutcomeReplies,
    ) -> None:
        self._endpoint = endpoint
        self._sign_in = sign_in
        self._cookies = cookies
        self._replies = replies

    async def __call__(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        return await self._begin(request, exchange, FlowUse.SIGN_IN)

    async def register(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Begin with the page of registration."""
        return await self._begin(request, exchange, FlowUse.REGISTRATION)

    async def reset_credentials(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Begin with the page of a forgotten password."""
        return await self._begin(request, exchange, FlowUse.RESET_CREDENTIALS)

    async def _begin(self, request: BrowserRequest, exchange: Exchange, use: FlowUse) -> Reply:
        try:
            asked = await self._endpoint.check(request.protocol)
            exchange.log.client = asked.client.client.client_id
            browser = await self._cookies.browser(request)
            if Prompt.CREATE in asked.prompt:
                use = FlowUse.REGISTRATION
            outcome = await self._sign_in.begin(request.protocol, asked, browser, use)
        except RedirectError as refusal:
            return await self._replies.refused(request, exchange, refusal)
        return await self._replies.reply(request, exchange, outcome)
