"""Refused requests as people see them: the sign-in, or a page that says how to go on.

Programs get the answer as it is, without a body. A proxy such as nginx cannot return the answer to
its question to the caller, so it asks `/.realmgate/refused` for the page with the same headers. The
gateway decides again by them and trusts nothing that is repeated.
"""

from dataclasses import replace
from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope

from gateway.domain.clock import Clock
from gateway.domain.forward_auth import (
    AcceptedCredential,
    Allowed,
    ForbiddenRequest,
    OriginalRequest,
    Reason,
    Site,
    Unauthenticated,
)
from gateway.domain.hosts import AmbiguousTarget, canonical_host
from gateway.domain.ports.lookups import Directory, RealmEntry
from gateway.forward_auth.browser import (
    REFUSED_PATH,
    SIGN_IN_PATH,
    SIGN_OUT_PATH,
    SignOutCodes,
    UnsafeReturnUrl,
    leading_to,
    return_url,
)
from gateway.forward_auth.decisions import Decisions
from gateway.http.browser import PageReplies, client_display, locale_preferences
from gateway.http.errors import UNMATCHED, MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.forward_auth.browser_endpoint import SiteClients, for_sites, session_values
from gateway.http.forward_auth.dialects import (
    ACCEPT,
    CHALLENGE,
    COOKIE,
    REFERER,
    SIGN_IN,
    Nginx,
    OriginalHeaders,
    evidence_of,
    forbidden,
    is_shown_to_people,
    refusal,
)
from gateway.http.forward_auth.site_less_refusals import with_explanation
from gateway.http.pages.page_values import ShownApplication, View
from gateway.http.pages.views import NoAccessPage, SessionEndedPage
from gateway.http.realm_endpoint import GuardedEndpoint, RealmContext
from gateway.http.replies import Reply, prose_error
from gateway.protocol.requests import Parameters

Refusal = Unauthenticated | ForbiddenRequest


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
            return with_explanation(answer, refusal, original, exchange.request_id, for_people=True)
        exchange.realm = realm
        exchange.security_headers = for_sites(realm.realm.security_headers)
        client = await self._clients.find_client(realm, site)
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
        client: ShownApplication | None,
    ) -> View:
        wanted = _page_before(site, original, headers)
        if isinstance(refusal, Unauthenticated) and refusal.may_sign_in:
            return SessionEndedPage(sign_in_url=leading_to(SIGN_IN_PATH, wanted), client=client)
        view = NoAccessPage(site=original.host, error_id=error_id, client=client)
        identity = refusal.identity if isinstance(refusal, ForbiddenRequest) else None
        if identity is None:
            return view
        view = replace(view, username=identity.username)
        if identity.kind is not AcceptedCredential.SESSION:
            return view
        values = session_values(headers.text(COOKIE), site)
        return replace(
            view,
            switch_action=leading_to(SIGN_OUT_PATH, wanted),
            session_code=self._codes.issue_code(values, self._clock.now()),
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


_METHODS: Final = ("GET", "HEAD")
_AGAIN: Final = Reply(HTTPStatus.SERVICE_UNAVAILABLE, ((b"retry-after", b"1"),))
"""The request may pass meanwhile: another tab has signed in, for example."""
_USED_PROOF: Final = Reply(HTTPStatus.UNAUTHORIZED, ((b"cache-control", b"no-store"),))
"""The DPoP proof of the request was used before; nginx has the challenge that says so."""


class RefusedEndpoint(GuardedEndpoint):
    """Answers the proxy alone."""

    def __init__(self, decisions: Decisions, pages: RefusalPages, context: RealmContext) -> None:
        super().__init__(REFUSED_PATH, context.directory, context.log, methods=_METHODS)
        self._decisions = decisions
        self._pages = pages

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - the proxy sends no body
        exchange: Exchange,
        entry: RealmEntry | None,  # noqa: ARG002 - the site names the realm, not the path
    ) -> Reply:
        facts = exchange.facts
        if not facts.from_proxy:
            exchange.log.reason = facts.ignored
            return prose_error(HTTPStatus.NOT_FOUND, UNMATCHED)
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        try:
            headers = OriginalHeaders(scope["headers"], facts.headers.values)
            scheme = "https" if facts.secure else "http"
            original = Nginx.original(scope, headers, scheme, "")
        except AmbiguousTarget as error:
            exchange.log.reason = str(error)
            unreadable = ForbiddenRequest(Reason.AMBIGUOUS_REQUEST, str(error))
            accepts = b",".join(value for name, value in scope["headers"] if name == ACCEPT)
            return with_explanation(
                forbidden(unreadable),
                unreadable,
                None,
                exchange.request_id,
                for_people=b"text/html" in accepts,
            )
        evidence = evidence_of(facts, headers, original)
        evidence = replace(evidence, proof=replace(evidence.proof, is_repeated=True))
        decision = await self._decisions.decide(original, evidence)
        if isinstance(decision, Allowed):
            return _AGAIN if evidence.proof.text is None else _USED_PROOF
        exchange.log.reason = decision.explanation
        answer = _without_challenge(refusal(decision, original, headers))
        if decision.site is None and not is_shown_to_people(headers):
            # As nginx answers its own errors: JSON, since no service expects an empty answer here.
            request_id = exchange.request_id
            return with_explanation(answer, decision, original, request_id, for_people=False)
        return await self._pages.present(answer, decision, original, headers, exchange)


def _without_challenge(answer: Reply) -> Reply:
    """Return a 401 without its challenge: nginx has kept that of the answer to its question."""
    if answer.status != HTTPStatus.UNAUTHORIZED:
        return answer
    return replace(answer, headers=tuple(each for each in answer.headers if each[0] != CHALLENGE))
