"""Sign-in and sign-out at protected sites: `/.realmgate/sign-in`, `callback` and `sign-out`.

URLs of the gateway at a site begin with `/.realmgate/`, as no service's may. A sign-out asks, ends
the session by a form, and goes where the site wants.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.routing import BaseRoute, Route

from gateway.domain.forward_auth import CALLBACK_PATH
from gateway.domain.localization import LocalizedText
from gateway.domain.ports.sessions import SiteSessions
from gateway.forward_auth.browser import (
    REFUSED_PATH,
    SIGN_IN_PATH,
    SIGN_OUT_PATH,
    PendingSignIn,
    PendingSignIns,
    SignInFailed,
    SignOutCodes,
    SiteSignIn,
    SiteSignOut,
    leading_to,
)
from gateway.forward_auth.decisions import Decisions
from gateway.forward_auth.site_table import Sites
from gateway.http.browser import PageReplies, client_display
from gateway.http.exchange import Exchange
from gateway.http.forward_auth.browser_endpoint import (
    SiteClients,
    SiteEndpoint,
    SiteRequest,
    pending_cookies,
    pending_name,
    remove_pending,
    remove_session,
    session_values,
    set_pending,
    set_session,
)
from gateway.http.forward_auth.refusals import RefusalPages, RefusedEndpoint
from gateway.http.pages.page_values import ShownApplication, View
from gateway.http.pages.views import (
    FrontChannelLogoutPage,
    LoggedOutPage,
    LogoutConfirmationPage,
    LogoutFrame,
    SignInFailedPage,
)
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import NOT_KEPT, Headers, Reply
from gateway.protocol.errors import OAuthError
from gateway.protocol.logout import ClientFrame
from gateway.protocol.requests import EventDraft

_DENIED: Final = LocalizedText("siteSignInDenied")
_EXPIRED: Final = LocalizedText("siteSignInExpired")


class SiteSignInEndpoints:
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
        name, pending = self._find_pending(request)
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

    def _find_pending(self, request: SiteRequest) -> tuple[str, PendingSignIn | None]:
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
        client = await self._clients.find_client(visit.request.realm, visit.site)
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


class SignOutHandler:
    """Signs browsers out. The parameter `rd` is a URL of the site to go to afterwards."""

    def __init__(
        self, sign_out: SiteSignOut, codes: SignOutCodes, clients: SiteClients, pages: PageReplies
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
            return await self._ask(
                request, wanted, self._codes.issue_code(values, visit.request.now)
            )
        return await self._signed_out(request, wanted, await self._sign_out.end(visit, values))

    async def _ask(self, request: SiteRequest, wanted: str | None, code: str) -> Reply:
        action = leading_to(SIGN_OUT_PATH, wanted)
        return await self._show_page(
            request,
            lambda client: LogoutConfirmationPage(
                action=action, cancel_url=wanted or "/", session_code=code, client=client
            ),
        )

    async def _signed_out(
        self, request: SiteRequest, wanted: str | None, frames: tuple[ClientFrame, ...]
    ) -> Reply:
        removal = (remove_session(request.visit.site),)
        if wanted is not None and not frames:
            location = (b"location", wanted.encode("ascii"))
            return Reply(HTTPStatus.SEE_OTHER, (location, *NOT_KEPT, *removal))
        view = _frames_page(frames, wanted or "") if frames else None
        return await self._show_page(
            request, lambda client: view or LoggedOutPage(client=client), removal
        )

    async def _show_page(
        self,
        request: SiteRequest,
        view: Callable[[ShownApplication | None], View],
        headers: Headers = (),
    ) -> Reply:
        visit = request.visit
        client = await self._clients.find_client(visit.request.realm, visit.site)
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


_GET: Final = ("GET", "HEAD")
_FORM: Final = ("GET", "HEAD", "POST")


@dataclass(frozen=True, slots=True)
class SiteHandlers:
    """What answers the URLs."""

    sign_in: SiteSignInEndpoints
    sign_out: SignOutHandler
    decisions: Decisions
    refusals: RefusalPages
    sites: Sites
    pages: PageReplies


def build_site_routes(handlers: SiteHandlers, context: RealmContext) -> list[BaseRoute]:
    """Return the URLs of every site."""
    rows = (
        (SIGN_IN_PATH, handlers.sign_in.begin, _GET),
        (CALLBACK_PATH, handlers.sign_in.complete, _GET),
        (SIGN_OUT_PATH, handlers.sign_out, _FORM),
    )
    sites, pages = handlers.sites, handlers.pages
    refused = RefusedEndpoint(handlers.decisions, handlers.refusals, context)
    return [
        *(
            Route(path, SiteEndpoint(path, handler, sites, context, pages, methods=methods))
            for path, handler, methods in rows
        ),
        Route(REFUSED_PATH, refused),
    ]
