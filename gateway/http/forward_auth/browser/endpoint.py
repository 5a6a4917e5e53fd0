"""An endpoint at a protected site, which the proxy's server selects as for decisions.

The realm that signs browsers in is checked as for its own URLs; errors are its pages. A host
without a site, and a peer that is not the proxy, get 404.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope

from gateway.domain.errors import RealmgateError, RealmNotFound
from gateway.domain.forward_auth import (
    AmbiguousTarget,
    ProxyServer,
    Site,
    canonical_host,
    proxy_server,
)
from gateway.domain.ports.directory import RealmEntry
from gateway.forward_auth.browser import WANTED, SiteVisit, UnsafeReturnUrl, return_url
from gateway.forward_auth.site_table import Sites, UnknownServer
from gateway.http.cross_site_forms import is_from_own_page
from gateway.http.edge.facts import EdgeFacts
from gateway.http.errors import UNMATCHED, MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.form import is_form, parse_form, read_body
from gateway.http.forward_auth.browser.site_headers import for_sites
from gateway.http.forward_auth.original_headers import FORWARDED_HOST, PROXY_SERVER
from gateway.http.guarded_endpoint import GuardedEndpoint
from gateway.http.pages import LocalePreferences
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply, prose_error
from gateway.http.sign_in.browser_endpoint import error_page, locale_preferences
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.authorization import invalid_request_page
from gateway.protocol.errors import OAuthError
from gateway.protocol.parameters import Parameters

_HTTPS_REQUIRED: Final = OAuthError("invalid_request", "HTTPS required")


@dataclass(frozen=True, slots=True)
class SiteRequest:
    """A request of a browser at a site. `form` is empty for a GET."""

    visit: SiteVisit
    cookies: str | None = field(repr=False)
    """The header as sent."""
    preferences: LocalePreferences
    form: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_form: bool = False

    @property
    def wanted_url(self) -> str | None:
        """The URL of the site to go to afterwards, None where none is named; raises PageError."""
        visit = self.visit
        parameters = visit.request.parameters
        if WANTED in parameters.repeated_names:
            raise invalid_request_page(f"the parameter {WANTED} came twice")
        wanted = parameters.get(WANTED)
        if wanted is None:
            return None
        try:
            return return_url(visit.site, visit.host, wanted)
        except UnsafeReturnUrl as error:
            raise invalid_request_page(str(error)) from error


SiteHandler = Callable[[SiteRequest, Exchange], Awaitable[Reply]]


class SiteEndpoint(GuardedEndpoint):
    """Answers one URL at every site."""

    def __init__(
        self,
        route: str,
        handler: SiteHandler,
        sites: Sites,
        context: RealmContext,
        pages: PageReplies,
        *,
        methods: tuple[str, ...] = ("GET", "HEAD"),
    ) -> None:
        super().__init__(route, context.directory, context.log, methods=methods)
        self._handler = handler
        self._sites = sites
        self._context = context
        self._pages = pages

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        exchange: Exchange,
        entry: RealmEntry | None,  # noqa: ARG002 - the site names the realm, not the path
    ) -> Reply:
        facts = exchange.facts
        try:
            host, server = _reported(facts)
            site = (await self._sites.table()).find(host, server).site
        except (AmbiguousTarget, UnknownServer) as refusal:
            exchange.log.reason = facts.ignored or str(refusal)
            return prose_error(HTTPStatus.NOT_FOUND, UNMATCHED)
        realm = await self._realm(site, exchange)
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        if scope["method"] == "POST":
            _require_own_page(facts, f"https://{host}")
        parameters = Parameters.of(parse_form(scope["query_string"]))
        protocol = await self._context.request(realm, facts, parameters)
        visit = SiteVisit(site, host, protocol)
        request = SiteRequest(
            visit=visit,
            cookies=facts.headers.text(b"cookie"),
            preferences=locale_preferences(exchange, parameters),
            form=await _form(scope, receive, facts),
            is_form=scope["method"] == "POST",
        )
        return await self._recorded(request, exchange)

    async def _realm(self, site: Site, exchange: Exchange) -> RealmEntry:
        """Return the realm that signs browsers in; raises OAuthError where it must not."""
        entry = await self._find_realm(site.realms[0], exchange)
        if entry is None:
            raise RealmNotFound(f"no realm {site.realms[0]!r}")
        exchange.security_headers = for_sites(entry.realm.security_headers)
        self._require(entry.realm, exchange)
        if not exchange.facts.secure:
            raise _HTTPS_REQUIRED
        return entry

    async def _recorded(self, request: SiteRequest, exchange: Exchange) -> Reply:
        protocol = request.visit.request
        try:
            reply = await self._handler(request, exchange)
        except OAuthError as refusal:
            self._context.events.refused(protocol, refusal)
            raise
        except RealmgateError:
            self._context.events.interrupted(protocol)
            raise
        self._context.events.answered(protocol)
        return reply

    async def _present(self, error: Exception, reply: Reply, exchange: Exchange) -> Reply:
        return await error_page(self._pages, error, reply, exchange)


def _reported(facts: EdgeFacts) -> tuple[str, ProxyServer]:
    """Return the host that the proxy reports, and its server; raises AmbiguousTarget.

    The proxy's server for the gateway itself reports none, so it has no pages of sites.
    """
    reported, server = facts.headers.text(FORWARDED_HOST), facts.headers.text(PROXY_SERVER)
    if not facts.from_proxy or reported is None:
        raise AmbiguousTarget("no proxy reports a host")
    if server is None:
        raise AmbiguousTarget(
            "the proxy does not send the header x-realmgate-server: use its configuration of this"
            " version"
        )
    scheme = "https" if facts.secure else "http"
    return canonical_host(reported, scheme), proxy_server(server, scheme)


def _require_own_page(facts: EdgeFacts, origin: str) -> None:
    """Raise OAuthError for a form that another page than one of the host has sent. attacks: D14."""
    if not is_from_own_page(facts, {origin}):
        reason = "a page of another origin sent the form"
        raise OAuthError("invalid_request", status=HTTPStatus.FORBIDDEN, reason=reason)


async def _form(scope: Scope, receive: Receive, facts: EdgeFacts) -> dict[str, str]:
    if scope["method"] != "POST":
        return {}
    sent = facts.headers.values
    body = await read_body(receive, sent.get(b"content-length"))
    pairs = parse_form(body) if is_form(sent.get(b"content-type")) else []
    return dict(reversed(pairs))
