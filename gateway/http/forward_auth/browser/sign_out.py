"""`/.realmgate/sign-out`: asks, ends the session by a form, and goes where the site wants."""

from collections.abc import Callable
from http import HTTPStatus

from gateway.forward_auth.browser import SIGN_OUT_PATH, SignOutCodes, SiteSignOut, leading_to
from gateway.http.exchange import Exchange
from gateway.http.forward_auth.browser.endpoint import SiteRequest
from gateway.http.forward_auth.browser.site_client import SiteClients
from gateway.http.forward_auth.browser.site_cookies import remove_session, session_values
from gateway.http.pages.page_values import ClientDisplay
from gateway.http.pages.views import (
    FrontChannelLogoutPage,
    LoggedOutPage,
    LogoutConfirmationPage,
    LogoutFrame,
    View,
)
from gateway.http.replies import NOT_KEPT, Headers, Reply
from gateway.http.sign_in.client_display import client_display
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.logout import ClientFrame


class SignOutHandler:
    """Signs browsers out. The parameter `rd` is a URL of the site to go to afterwards."""

    def __init__(
        self,
        sign_out: SiteSignOut,
        codes: SignOutCodes,
        clients: SiteClients,
        pages: PageReplies,
    ) -> None:
        self._sign_out = sign_out
        self._codes = codes
        self._clients = clients
        self._pages = pages

    async def __call__(self, request: SiteRequest, exchange: Exchange) -> Reply:
        """Ask, or end the session where the browser's own form was sent. Raises PageError."""
        visit = request.visit
        exchange.log.client = visit.site.client
        wanted = request.wanted_url
        values = session_values(request.cookies, visit.site)
        if not await self._sign_out.is_signed_in(visit, values):
            return await self._signed_out(request, wanted, ())
        code = request.form.get("session_code", "")
        if not self._codes.holds(code, values, visit.request.now):
            return await self._ask(request, wanted, self._codes.issue(values, visit.request.now))
        return await self._signed_out(request, wanted, await self._sign_out.end(visit, values))

    async def _ask(self, request: SiteRequest, wanted: str | None, code: str) -> Reply:
        action = leading_to(SIGN_OUT_PATH, wanted)
        return await self._show(
            request,
            lambda client: LogoutConfirmationPage(action=action, session_code=code, client=client),
        )

    async def _signed_out(
        self, request: SiteRequest, wanted: str | None, frames: tuple[ClientFrame, ...]
    ) -> Reply:
        removal = (remove_session(request.visit.site),)
        if wanted is not None and not frames:
            location = (b"location", wanted.encode("ascii"))
            return Reply(HTTPStatus.SEE_OTHER, (location, *NOT_KEPT, *removal))
        view = _frames_page(frames, wanted or "") if frames else None
        return await self._show(
            request, lambda client: view or LoggedOutPage(client=client), removal
        )

    async def _show(
        self,
        request: SiteRequest,
        view: Callable[[ClientDisplay | None], View],
        headers: Headers = (),
    ) -> Reply:
        visit = request.visit
        client = await self._clients.find(visit.request.realm, visit.site)
        shown = view(None if client is None else client_display(client))
        realm = visit.request.realm.realm
        page = await self._pages.page(shown, realm, request.preferences, client=client)
        return Reply(page.status, (*page.headers, *headers), page.body)


def _frames_page(frames: tuple[ClientFrame, ...], wanted: str) -> FrontChannelLogoutPage:
    shown = tuple(
        LogoutFrame(frame.client.display.name or frame.client.client_id, frame.url)
        for frame in frames
    )
    return FrontChannelLogoutPage(frames=shown, continue_url=wanted)
