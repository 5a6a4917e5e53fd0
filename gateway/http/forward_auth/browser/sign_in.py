"""`/.realmgate/sign-in` and `/.realmgate/callback`: to the realm, and back to the wanted page."""

from http import HTTPStatus
from typing import Final

from gateway.domain.ports.site_sessions import SiteSessions
from gateway.domain.texts import Text
from gateway.forward_auth.browser import (
    SIGN_IN_PATH,
    PendingSignIn,
    PendingSignIns,
    SignInFailed,
    SiteSignIn,
    leading_to,
)
from gateway.http.exchange import Exchange
from gateway.http.forward_auth.browser.endpoint import SiteRequest
from gateway.http.forward_auth.browser.site_client import SiteClients
from gateway.http.forward_auth.browser.site_cookies import (
    pending_cookies,
    pending_name,
    remove_pending,
    session_values,
    set_pending,
    set_session,
)
from gateway.http.pages.sites.views import SignInFailedPage
from gateway.http.replies import NOT_KEPT, Headers, Reply
from gateway.http.sign_in.client_display import client_display
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import EventDraft

_DENIED: Final = Text("siteSignInDenied")
_EXPIRED: Final = Text("siteSignInExpired")


class SignInHandlers:
    """Sends browsers to the realm, and takes them back."""

    def __init__(
        self,
        sign_in: SiteSignIn,
        pending: PendingSignIns,
        sessions: SiteSessions,
        clients: SiteClients,
        pages: PageReplies,
    ) -> None:
        self._sign_in = sign_in
        self._pending = pending
        self._sessions = sessions
        self._clients = clients
        self._pages = pages

    async def begin(self, request: SiteRequest, exchange: Exchange) -> Reply:
        """Begin a sign-in; the parameter `rd` is the wanted URL. Raises PageError."""
        visit = request.visit
        exchange.log.client = visit.site.client
        wanted = request.wanted_url or f"{visit.origin}/"
        begun = await self._sign_in.begin(visit, wanted)
        sealed = self._pending.seal(begun.pending, visit.host)
        before, now = pending_cookies(request.cookies), visit.request.now
        surplus = self._pending.surplus(before, sealed, visit.host, now)
        kept = set_pending(pending_name(begun.pending.state), sealed)
        return _redirect(begun.url, (kept, *map(remove_pending, surplus)))

    async def complete(self, request: SiteRequest, exchange: Exchange) -> Reply:
        """Take the realm's response and return to the wanted URL."""
        visit = request.visit
        exchange.log.client = visit.site.client
        name, pending = self._find(request)
        try:
            signed_in = await self._sign_in.complete(visit, pending)
        except SignInFailed as failure:
            return await self._failed(request, exchange, failure)
        except OAuthError as refusal:
            _note(refusal, visit.request.event)
            wanted = None if pending is None else pending.return_url
            return await self._failed(request, exchange, SignInFailed(str(refusal), wanted))
        exchange.log.user = signed_in.session.user_id
        for value in session_values(request.cookies, visit.site):
            await self._sessions.end(signed_in.session.realm_id, value)
        cookies = (set_session(visit.site, signed_in.value), remove_pending(name))
        return _redirect(signed_in.return_url, cookies)

    def _find(self, request: SiteRequest) -> tuple[str, PendingSignIn | None]:
        """Return the sign-in that the response names, and the name of its cookie."""
        visit = request.visit
        name = pending_name(visit.request.parameters.get("state") or "")
        sealed = pending_cookies(request.cookies).get(name)
        if sealed is None:
            return name, None
        return name, self._pending.open(sealed, visit.host, visit.request.now)

    async def _failed(
        self, request: SiteRequest, exchange: Exchange, failure: SignInFailed
    ) -> Reply:
        visit = request.visit
        exchange.log.reason = str(failure)
        client = await self._clients.find(visit.request.realm, visit.site)
        view = SignInFailedPage(
            message=_DENIED if failure.is_denied else _EXPIRED,
            retry_url=leading_to(SIGN_IN_PATH, failure.return_url),
            error_id=exchange.request_id,
            client=None if client is None else client_display(client),
        )
        return await self._pages.page(
            view,
            visit.request.realm.realm,
            request.preferences,
            status=HTTPStatus.BAD_REQUEST,
            client=client,
        )


def _note(refusal: OAuthError, event: EventDraft) -> None:
    """Note the refusal of a code for its event; a refusal without an event is none."""
    if refusal.event is None:
        event.withdraw()
    else:
        event.refuse(refusal.event)


def _redirect(url: str, cookies: Headers) -> Reply:
    return Reply(HTTPStatus.FOUND, ((b"location", url.encode("ascii")), *NOT_KEPT, *cookies))
