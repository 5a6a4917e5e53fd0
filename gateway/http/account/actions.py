"""The links of the console that are no pages: required actions, and "Sign out"."""

import re
from http import HTTPStatus
from typing import Final

from gateway.domain.events import EventError
from gateway.http.account.console import Console
from gateway.http.account.forms import FormTokens
from gateway.http.exchange import Exchange
from gateway.http.logout.browser_logout import BrowserLogoutHandler
from gateway.http.replies import Reply
from gateway.http.sign_in.browser_endpoint import BrowserRequest
from gateway.protocol.account_console import AccountPage, ConsoleClients, account_page
from gateway.protocol.authorization import PageError, PageMessage, invalid_request_page

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
        """Begin a required action, after which the browser is back on the page it came from.

        The link changes nothing: the user confirms every action on its own page.
        """
        sent = request.protocol.parameters
        named = _ACTION.fullmatch(sent.get("kc_action") or "")
        page = account_page(sent.get("page") or "")
        if named is None or page is None:
            raise invalid_request_page("no action, or no page of the console")
        client = await self._clients.find(request.protocol)
        action, parameter = named.groups()
        return await self._console.begin(
            request, exchange, client, page, action=action, parameter=parameter
        )

    async def sign_out(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """End the session of the browser."""
        client = await self._clients.find(request.protocol)
        identity = await self._console.identity(request, client)
        if identity is None:
            return self._console.see_other(request, AccountPage.PERSONAL_INFO)
        if not self._forms.holds(request, identity):
            raise PageError(
                PageMessage.failedLogout,
                event_error=EventError.INVALID_REQUEST,
                status=HTTPStatus.FORBIDDEN,
                client=client.client,
            )
        return await self._logout.end(request, exchange, identity, client.client.client_id)
