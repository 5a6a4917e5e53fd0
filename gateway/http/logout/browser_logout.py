"""Logging a browser out: from parameters and cookies to a page or to the client.

The question whether to log out carries a code that is sealed for the session of the browser: only
the form of this gateway, shown to this user, can answer it.
"""

from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from gateway.domain.errors import SecretUnreadable
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.texts import Text
from gateway.http.exchange import Exchange
from gateway.http.pages.views import (
    FrontChannelLogoutPage,
    InfoPage,
    LoggedOutPage,
    LogoutConfirmationPage,
    LogoutFrame,
    View,
)
from gateway.http.replies import Reply
from gateway.http.sign_in.browser_cookies import BrowserCookies, signed_out
from gateway.http.sign_in.browser_endpoint import BrowserRequest
from gateway.http.sign_in.client_display import client_display
from gateway.http.sign_in.cookies import cookie_headers
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.logout import AskToLogOut, BrowserLogout, LoggedOut
from gateway.protocol.parameters import Parameters
from gateway.protocol.sign_in_results.identity_cookie import Identity

CONFIRM_PATH: Final = "protocol/openid-connect/logout/logout-confirm"
LOGOUT_PATH: Final = "protocol/openid-connect/logout"
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
        identity = await self._cookies.identity(request)
        outcome = await self._logout.begin(request.protocol, identity)
        if isinstance(outcome, AskToLogOut):
            return await self._ask(request, outcome)
        return await self._logged_out(request, exchange, outcome)

    async def confirm(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Take the answer to the question."""
        identity = await self._cookies.identity(request)
        stored = self._opened(request, identity) if "confirmLogout" in request.form else None
        outcome = await self._logout.confirm(request.protocol, identity, stored)
        return await self._logged_out(request, exchange, outcome)

    async def end(
        self, request: BrowserRequest, exchange: Exchange, identity: Identity, client_id: str
    ) -> Reply:
        """Log out at once: the user has asked for it on a page of the gateway."""
        asked = Parameters({"client_id": client_id})
        outcome = await self._logout.confirm(request.protocol, identity, asked)
        return await self._logged_out(request, exchange, outcome)

    async def _ask(self, request: BrowserRequest, outcome: AskToLogOut) -> Reply:
        client, issuer = outcome.asked.client, request.protocol.issuer
        named = {} if client is None else {"client_id": client.client_id}
        query = f"?{urlencode(named)}" if named else ""
        view = LogoutConfirmationPage(
            action=f"{issuer}/{CONFIRM_PATH}{query}",
            session_code=self._sealed(request, outcome),
            client=None if client is None else client_display(client),
        )
        return await self._pages.page(
            view,
            request.protocol.realm.realm,
            request.preferences,
            client=client,
            url=f"{issuer}/{LOGOUT_PATH}?{urlencode(outcome.asked.stored())}",
        )

    async def _logged_out(
        self, request: BrowserRequest, exchange: Exchange, outcome: LoggedOut
    ) -> Reply:
        protocol, client = request.protocol, outcome.client
        exchange.log.client = None if client is None else client.client_id
        cookies = cookie_headers(protocol, signed_out()) if outcome.has_ended else ()
        stops = client is not None and client.logout.stops_at_page
        if outcome.target and not outcome.frames and not stops:
            location = (b"location", outcome.target.encode("ascii", "xmlcharrefreplace"))
            return Reply(_FOUND, (location, _NOT_KEPT, *cookies))
        page = await self._pages.page(
            _view(outcome, stops=stops), protocol.realm.realm, request.preferences, client=client
        )
        return Reply(page.status, (*page.headers, *cookies), page.body)

    def _sealed(self, request: BrowserRequest, outcome: AskToLogOut) -> str:
        until = (request.protocol.now + _TIME_TO_ANSWER).isoformat()
        stored = {"until": until, "asked": outcome.asked.stored()}
        context = _context(request, outcome.identity)
        return self._secrets.seal(orjson.dumps(stored).decode(), context)

    def _opened(self, request: BrowserRequest, identity: Identity | None) -> Parameters | None:
        """Return what the code holds, None for one of another session or for an old one."""
        code = request.form.get("session_code", "")
        if identity is None or len(code) > _LONGEST_CODE:
            return None
        try:
            stored: Any = orjson.loads(self._secrets.unseal(code, _context(request, identity)))
        except SecretUnreadable:
            return None
        if datetime.fromisoformat(stored["until"]) <= request.protocol.now:
            return None
        return Parameters(stored["asked"])


def _view(outcome: LoggedOut, *, stops: bool) -> View:
    if outcome.frames:
        frames = tuple(
            LogoutFrame(frame.client.display.name or frame.client.client_id, frame.url)
            for frame in outcome.frames
        )
        return FrontChannelLogoutPage(frames=frames, continue_url=outcome.target)
    shown = None if outcome.client is None else client_display(outcome.client)
    if stops and outcome.target:
        message = Text("successLogout")
        return InfoPage(message=message, continue_url=outcome.target, client=shown)
    return LoggedOutPage(client=shown)


def _context(request: BrowserRequest, identity: Identity) -> str:
    realm = request.protocol.realm.realm.id
    return f"logout:{realm}:{identity.session.id}:{identity.state_checker}"
