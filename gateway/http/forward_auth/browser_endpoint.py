"""An endpoint at a protected site for browsers: its realm, its cookies, its headers.

The proxy's server selects the site as for decisions. The realm that signs browsers in is checked as
for its own URLs; errors are its pages. A host without a site, and a peer that is not the proxy, get
404.

All cookies are `Secure` and `HttpOnly`. `SameSite=Lax`, because the realm sends the browser back
from another site. Names with `__Host-` cannot be set by other hosts. Spec: RFC 6265bis §4.1.3
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope

from gateway.domain.clients import Client
from gateway.domain.errors import RealmgateError, RealmNotFound
from gateway.domain.forward_auth import Site, cookie_name
from gateway.domain.hosts import AmbiguousTarget, ProxyServer, canonical_host, proxy_server
from gateway.domain.ports.lookups import Directory, RealmEntry
from gateway.domain.realm import SecurityHeaders
from gateway.forward_auth.browser import (
    SIGN_IN_LIFESPAN,
    WANTED,
    SiteVisit,
    UnsafeReturnUrl,
    pending_id,
    return_url,
)
from gateway.forward_auth.site_table import Sites, UnknownServer
from gateway.http.browser import PageReplies, error_page, locale_preferences, read_cookies
from gateway.http.cross_origin import is_from_own_page
from gateway.http.edge import EdgeFacts
from gateway.http.errors import UNMATCHED, MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.forms import parse_form, read_form
from gateway.http.forward_auth.dialects import FORWARDED_HOST, PROXY_SERVER
from gateway.http.pages import LocalePreferences
from gateway.http.realm_endpoint import GuardedEndpoint, RealmContext
from gateway.http.replies import Reply, prose_error
from gateway.protocol.authorization import invalid_request_page
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import Parameters


class SiteClients:
    """Finds the clients that browsers sign in to."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def find_client(self, realm: RealmEntry, site: Site) -> Client | None:
        """Return the client; raises StoreUnavailable."""
        if site.client is None:
            return None
        entry = await self._directory.client(realm.realm.id, site.client)
        return None if entry is None else entry.client


_TRANSPORT_SECURITY: Final = "strictTransportSecurity"


def for_sites(headers: SecurityHeaders) -> SecurityHeaders:
    """Return the headers without the one that decides about all of the site's own host."""
    kept = tuple(pair for pair in headers.values if pair[0] != _TRANSPORT_SECURITY)
    return replace(headers, values=kept)


_PENDING: Final = "__Host-realmgate-sign-in-"
_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Lax"

Header = tuple[bytes, bytes]
Cookies = Mapping[str, tuple[str, ...]]


def pending_name(state: str) -> str:
    """Return the name of the cookie of the sign-in that a `state` belongs to."""
    return f"{_PENDING}{pending_id(state)}"


def pending_cookies(header: str | None) -> dict[str, str]:
    """Return the sealed sign-ins by the names of their cookies."""
    return {
        name: values[0]
        for name, values in read_cookies(header).items()
        if name.startswith(_PENDING)
    }


def session_values(header: str | None, site: Site) -> tuple[str, ...]:
    """Return the values of the site's session cookie."""
    return read_cookies(header).get(cookie_name(site), ())


def set_pending(name: str, sealed: str) -> Header:
    """Return the header that keeps a sign-in."""
    return _set_cookie(
        name, sealed, f"Max-Age={int(SIGN_IN_LIFESPAN.total_seconds())}; {_ATTRIBUTES}"
    )


def remove_pending(name: str) -> Header:
    """Return the header that removes a sign-in."""
    return _set_cookie(name, "", f"Max-Age=0; {_ATTRIBUTES}")


def set_session(site: Site, value: str) -> Header:
    """Return the header that keeps a session as long as the browser runs."""
    return _set_cookie(cookie_name(site), value, _session_attributes(site))


def remove_session(site: Site) -> Header:
    """Return the header that removes the session."""
    return _set_cookie(cookie_name(site), "", f"Max-Age=0; {_session_attributes(site)}")


def _session_attributes(site: Site) -> str:
    domain = site.cookie_domain
    return _ATTRIBUTES if domain is None else f"Domain={domain}; {_ATTRIBUTES}"


def _set_cookie(name: str, value: str, attributes: str) -> Header:
    return b"set-cookie", f"{name}={value}; {attributes}".encode("ascii")


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
            site = (await self._sites.table()).find_site(host, server).site
        except (AmbiguousTarget, UnknownServer) as refusal:
            exchange.log.reason = facts.ignored or str(refusal)
            return prose_error(HTTPStatus.NOT_FOUND, UNMATCHED)
        realm = await self._realm(site, exchange)
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        is_post = scope["method"] == "POST"
        if is_post:
            _require_own_page(facts, f"https://{host}")
        parameters = Parameters.from_pairs(parse_form(scope["query_string"]))
        protocol = await self._context.request(realm, facts, parameters)
        visit = SiteVisit(site, host, protocol)
        form = await read_form(receive, facts.headers.values) if is_post else []
        request = SiteRequest(
            visit=visit,
            cookies=facts.headers.text(b"cookie"),
            preferences=locale_preferences(exchange, parameters),
            form=dict(reversed(form)),
            is_form=is_post,
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
    """Return host and server that the proxy reports; raises AmbiguousTarget for the gateway."""
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
