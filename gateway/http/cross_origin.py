"""Requests from pages of other sites: the headers of CORS, and the check which page sent a form.

An endpoint without a `CrossOrigin` sends no such headers, so no page of another origin can read its
responses. `Origin` and `Sec-Fetch-Site` name the page that sent a form: forms of other sites are
refused. Spec: Fetch §3.2 (`Origin`), §3.3 (CORS protocol); Keycloak: 12.7 pages of other origins;
attacks: D14
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from gateway.http.edge import EdgeFacts
from gateway.http.exchange import Exchange
from gateway.http.replies import Headers, Reply
from gateway.protocol.requests import SendingPage

ORIGIN: Final = b"origin"
_EXPOSED_WHERE_SENT: Final = (
    (b"www-authenticate", b"WWW-Authenticate"),
    (b"dpop-nonce", b"DPoP-Nonce"),
)
_WITH_CREDENTIALS: Final = (b"access-control-allow-credentials", b"true")
_PREFLIGHT: Final[Headers] = (
    _WITH_CREDENTIALS,
    (
        b"access-control-allow-headers",
        (
            b"Origin, Accept, X-Requested-With, Access-Control-Request-Method,"
            b" Access-Control-Request-Headers, DPoP, Content-Type, Authorization"
        ),
    ),
    (b"access-control-max-age", b"3600"),
)
"""The same for every endpoint; a browser does not send a request with any other header."""


@dataclass(frozen=True, slots=True)
class CrossOrigin:
    """CORS headers; `is_open`: pages may read it until the client is known."""

    methods: bytes
    exposed: bytes = b""
    is_open: bool = True

    def page(self, exchange: Exchange, own: frozenset[str]) -> SendingPage:
        """Return the page that sends a request with `Origin`; `own` are our origins."""
        sent = exchange.facts.headers.values[ORIGIN].decode("latin-1")
        return SendingPage(sent, sent in own, may_read=self.is_open)

    def preflight(self, exchange: Exchange) -> Headers:
        """Return the headers by which a browser decides whether to send a request at all."""
        origin = exchange.facts.headers.values.get(ORIGIN)
        if origin is None:
            return ()
        methods = (b"access-control-allow-methods", self.methods)
        return (_allowed(origin), methods, *_PREFLIGHT)

    def headers(self, page: SendingPage, reply: Reply) -> Headers:
        """Return the headers by which a browser lets the page read the reply."""
        if page.origin is None or not page.may_read:
            return ()
        exposed = self.exposed
        for name, shown in _EXPOSED_WHERE_SENT if exposed else ():
            if any(sent == name for sent, _ in reply.headers):
                exposed += b", " + shown
        found = (_allowed(page.origin.encode("latin-1")), _WITH_CREDENTIALS)
        return (*found, (b"access-control-expose-headers", exposed)) if exposed else found


PUBLIC_METADATA: Final = CrossOrigin(b"GET")
REALM_DOCUMENT: Final = CrossOrigin(b"GET, HEAD, OPTIONS")
FOR_CLIENTS: Final = CrossOrigin(b"POST, OPTIONS", b"Access-Control-Allow-Methods")
FOR_SESSIONS: Final = CrossOrigin(b"GET, HEAD, OPTIONS", b"Access-Control-Allow-Methods")
REGISTRATION: Final = CrossOrigin(b"DELETE, POST, GET, OPTIONS, PUT", is_open=False)
ACCOUNT_API: Final = CrossOrigin(b"HEAD, DELETE, POST, GET, OPTIONS, PUT", is_open=False)
ADMIN_API: Final = CrossOrigin(b"DELETE, POST, GET, PUT", b"Location", is_open=False)


def origins_at(urls: Iterable[str | None]) -> frozenset[str]:
    """Return the origins of these URLs as browsers write them. Spec: RFC 6454 §6.2."""
    return frozenset(_origin(url) for url in urls if url)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return f"{parts.scheme.lower()}://{host}{port}"


def _allowed(origin: bytes) -> tuple[bytes, bytes]:
    return b"access-control-allow-origin", origin


_OPAQUE_ORIGIN: Final = "null"
"""What browsers send from pages with `Referrer-Policy: no-referrer`, the gateway's own among them,
and from sandboxed frames of any site.
"""
_OTHER_SITE: Final = "cross-site"
_OWN_PAGE: Final = frozenset({"same-origin", "none"})
"""`Sec-Fetch-Site` of the gateway's own pages, and of a form that the user has sent again."""


def is_from_own_page(facts: EdgeFacts, own_origins: Collection[str]) -> bool:
    """Return whether a page of one of the origins sent the form, as far as the headers say."""
    origin = facts.headers.text(b"origin")
    site = facts.headers.text(b"sec-fetch-site")
    if origin not in {None, _OPAQUE_ORIGIN}:
        return origin in own_origins and site != _OTHER_SITE
    if site is not None:
        return site in _OWN_PAGE
    # Browsers send Sec-Fetch-Site to https alone: without TLS the headers do not distinguish a page
    # of the gateway from another one, and the secret in its form decides.
    return origin is None or not facts.secure
