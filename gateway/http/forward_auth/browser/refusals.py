"""Refused requests as people see them: the sign-in, or a page that says how to go on.

Programs get the answer as it is, without a body.
"""

from dataclasses import replace
from http import HTTPStatus

from gateway.domain.clock import Clock
from gateway.domain.forward_auth import (
    AmbiguousTarget,
    Credential,
    Forbidden,
    OriginalRequest,
    Site,
    Unauthenticated,
    canonical_host,
)
from gateway.domain.ports.directory import Directory
from gateway.forward_auth.browser import (
    SIGN_IN_PATH,
    SIGN_OUT_PATH,
    SignOutCodes,
    UnsafeReturnUrl,
    leading_to,
    return_url,
)
from gateway.http.exchange import Exchange
from gateway.http.forward_auth.answers import SIGN_IN, is_shown_to_people
from gateway.http.forward_auth.browser.site_client import SiteClients
from gateway.http.forward_auth.browser.site_cookies import session_values
from gateway.http.forward_auth.browser.site_headers import for_sites
from gateway.http.forward_auth.original_headers import COOKIE, REFERER, OriginalHeaders
from gateway.http.pages.page_values import ClientDisplay
from gateway.http.pages.sites.views import NoAccessPage, SessionEndedPage, SiteView
from gateway.http.replies import Reply
from gateway.http.sign_in.browser_endpoint import locale_preferences
from gateway.http.sign_in.client_display import client_display
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.parameters import Parameters

Refusal = Unauthenticated | Forbidden


class RefusalPages:
    """Makes pages of answers."""

    def __init__(
        self,
        directory: Directory,
        clients: SiteClients,
        codes: SignOutCodes,
        pages: PageReplies,
        clock: Clock,
    ) -> None:
        self._directory = directory
        self._clients = clients
        self._codes = codes
        self._pages = pages
        self._clock = clock

    async def present(
        self,
        answer: Reply,
        refusal: Refusal,
        original: OriginalRequest,
        headers: OriginalHeaders,
        exchange: Exchange,
    ) -> Reply:
        """Return what a browser shows; `answer` itself for programs. Raises StoreUnavailable."""
        if not is_shown_to_people(headers):
            return answer
        for name, value in answer.headers:
            if name == SIGN_IN:
                return Reply(HTTPStatus.FOUND, (*answer.headers, (b"location", value)))
        site = refusal.site
        realm = None if site is None else await self._directory.realm(site.realms[0])
        if site is None or realm is None:
            return answer
        exchange.realm = realm
        exchange.security_headers = for_sites(realm.realm.security_headers)
        client = await self._clients.find(realm, site)
        shown = None if client is None else client_display(client)
        view = self._view(
            refusal, site, original, headers, error_id=exchange.request_id, client=shown
        )
        page = await self._pages.page(
            view,
            realm.realm,
            locale_preferences(exchange, Parameters()),
            status=answer.status,
            client=client,
        )
        kept = tuple(header for header in answer.headers if header[0] != b"cache-control")
        return replace(page, headers=(*page.headers, *kept))

    def _view(
        self,
        refusal: Refusal,
        site: Site,
        original: OriginalRequest,
        headers: OriginalHeaders,
        *,
        error_id: str,
        client: ClientDisplay | None,
    ) -> SiteView:
        wanted = _page_before(site, original, headers)
        if isinstance(refusal, Unauthenticated) and refusal.may_sign_in:
            return SessionEndedPage(sign_in_url=leading_to(SIGN_IN_PATH, wanted), client=client)
        view = NoAccessPage(error_id=error_id, client=client)
        identity = refusal.identity if isinstance(refusal, Forbidden) else None
        if identity is None:
            return view
        view = replace(view, username=identity.username)
        if identity.kind is not Credential.SESSION:
            return view
        values = session_values(headers.text(COOKIE), site)
        return replace(
            view,
            switch_action=leading_to(SIGN_OUT_PATH, wanted),
            session_code=self._codes.issue(values, self._clock.now()),
        )


def _page_before(site: Site, original: OriginalRequest, headers: OriginalHeaders) -> str | None:
    """Return the page that the user wants to see: that of the form which was sent, if any."""
    referer = headers.text(REFERER)
    sends_form = original.method not in {"GET", "HEAD"}
    for wanted in (referer if sends_form else None, original.uri):
        try:
            if wanted is not None:
                return return_url(site, canonical_host(original.host), wanted)
        except (AmbiguousTarget, UnsafeReturnUrl):
            continue
    return None
