"""/realms/{realm}/login-actions/action-token: the links of mails.

GET shows what will happen, with one button; POST does it. The form has the key in its body, and no
page of a link names its URL to another site (`Referrer-Policy`). Keycloak: 12.12
"""

from dataclasses import replace
from typing import Final

from gateway.domain.realm import SecurityHeaders
from gateway.domain.texts import Text
from gateway.http.exchange import Exchange
from gateway.http.pages.views import ConfirmLinkPage
from gateway.http.replies import Reply
from gateway.http.sign_in.action_urls import ACTION_TOKEN
from gateway.http.sign_in.browser_cookies import BrowserCookies
from gateway.http.sign_in.browser_endpoint import BrowserRequest
from gateway.http.sign_in.client_display import client_display
from gateway.http.sign_in.outcome_replies import OutcomeReplies
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.action_tokens import ActionTokenEndpoint, Confirmation
from gateway.protocol.authorization import RedirectError

_KEY: Final = "key"
_REFERRER_POLICY: Final = ("referrerPolicy", "no-referrer")
"""Whatever the realm sets: the URL of the page is a secret."""


class ActionTokenPages:
    """The handler of links."""

    def __init__(
        self,
        endpoint: ActionTokenEndpoint,
        cookies: BrowserCookies,
        replies: OutcomeReplies,
        pages: PageReplies,
    ) -> None:
        self._endpoint = endpoint
        self._cookies = cookies
        self._replies = replies
        self._pages = pages

    async def __call__(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        headers = exchange.security_headers or SecurityHeaders()
        exchange.security_headers = headers.with_value(*_REFERRER_POLICY)
        exchange.log.client = request.protocol.parameters.get("client_id")
        browser = await self._cookies.browser(request)
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
            message=Text(found.message, found.arguments),
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
