"""How each kind of proxy asks for a decision and is answered, and the headers of its request.

A header that comes twice, or with `_` for `-`, could be read differently by the proxy, by us and by
the service: the request is refused. An answer with a body costs nginx its connection to the
gateway. attacks: A4, B1, B4; Spec: RFC 6750 §3, RFC 9449 §7.1, RFC 6265 §5.4
"""

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping
from http import HTTPStatus
from typing import ClassVar, Final

from starlette.types import Scope

from gateway.domain.forward_auth import (
    DOMAIN_COOKIE,
    HOST_COOKIE,
    ForbiddenRequest,
    OriginalRequest,
    Reason,
    Unauthenticated,
)
from gateway.domain.hosts import AmbiguousTarget
from gateway.domain.ports.client_keys import NO_PROOF, SentProof
from gateway.forward_auth.browser import SIGN_IN_PATH, leading_to
from gateway.forward_auth.callers import Evidence
from gateway.forward_auth.identity_headers import is_unremovable
from gateway.http.edge import EdgeFacts
from gateway.http.errors import nonce_header, proof_challenge
from gateway.http.replies import Headers, Reply

AUTHORIZATION: Final = b"authorization"
COOKIE: Final = b"cookie"
DPOP: Final = b"dpop"
ACCEPT: Final = b"accept"
FETCH_MODE: Final = b"sec-fetch-mode"
REQUESTED_WITH: Final = b"x-requested-with"
FORWARDED_HOST: Final = b"x-forwarded-host"
FORWARDED_METHOD: Final = b"x-forwarded-method"
FORWARDED_URI: Final = b"x-forwarded-uri"
ORIGINAL_REQUEST: Final = b"x-original-request"
PROXY_SERVER: Final = b"x-realmgate-server"
HOST: Final = b"host"
REFERER: Final = b"referer"
_METHOD_OVERRIDES: Final = frozenset(
    {b"x-http-method-override", b"x-http-method", b"x-method-override"}
)
_READ: Final = frozenset(
    {
        *(AUTHORIZATION, COOKIE, DPOP, FETCH_MODE, REQUESTED_WITH, HOST, REFERER),
        *(FORWARDED_HOST, FORWARDED_METHOD, FORWARDED_URI, ORIGINAL_REQUEST),
        PROXY_SERVER,
    }
)


class OriginalHeaders:
    """The headers of one decision request; raises AmbiguousTarget.

    `unremovable` are names of headers by which a service could know its caller, in a form that the
    proxy does not remove.
    """

    __slots__ = ("_values", "unremovable")

    def __init__(
        self, headers: Iterable[tuple[bytes, bytes]], of_edge: Container[bytes] = ()
    ) -> None:
        """Take `of_edge`, names of headers that the proxy sends and has overwritten."""
        values: dict[bytes, bytes] = {}
        self.unremovable: tuple[str, ...] = ()
        for sent, value in headers:
            if is_unremovable(sent) and sent not in of_edge:
                self.unremovable = (*self.unremovable, sent.decode("latin-1"))
            name = sent.replace(b"_", b"-") if b"_" in sent else sent
            if name in _METHOD_OVERRIDES:
                raise AmbiguousTarget("a header overrides the method")
            if name in _READ:
                if name in values or name is not sent:
                    text = name.decode("ascii")
                    raise AmbiguousTarget(f"the header {text} is repeated or misspelled")
                values[name] = value
            elif name == ACCEPT:
                values.setdefault(name, value)
        self._values = values

    def text(self, name: bytes) -> str | None:
        """Return the value, None without the header."""
        value = self._values.get(name)
        return None if value is None else value.decode("latin-1")

    def required(self, name: bytes) -> str:
        """Return the value of a header that the proxy sends; raises AmbiguousTarget."""
        value = self.text(name)
        if value is None:
            sent = name.decode("ascii")
            raise AmbiguousTarget(
                f"the proxy does not send the header {sent}: use its configuration of this version"
            )
        return value


REASON: Final = b"x-realmgate-reason"
SIGN_IN: Final = b"x-realmgate-sign-in"
_NO_STORE: Final = (b"cache-control", b"no-store")
CHALLENGE: Final = b"www-authenticate"
_LONGEST_TEXT: Final = 400
"""Characters of a realm's name or of scopes in a challenge."""
_REFUSED: Final = "The token is not valid"
_DESCRIPTIONS: Final[Mapping[Reason, str]] = {
    Reason.CREDENTIAL_NOT_ACCEPTED: "Bearer tokens are not accepted here",
    Reason.CERTIFICATE_MISMATCH: "The token is bound to another certificate",
    Reason.TOKEN_NOT_BOUND: "The token is not bound to a certificate or a DPoP key",
    Reason.AUDIENCE_NOT_ALLOWED: "The token is for another service",
    Reason.REALM_NOT_ALLOWED: "The token is of another realm",
    Reason.HTTPS_REQUIRED: "HTTPS is required",
    Reason.MISSING_REALM_ROLE: "A required role is missing",
    Reason.MISSING_CLIENT_ROLE: "A required role is missing",
    Reason.MISSING_SCOPE: "A required scope is missing",
    Reason.MISSING_GROUP: "A required group is missing",
    Reason.CLIENT_NOT_ALLOWED: "The client is not allowed",
    Reason.CERTIFICATE_NOT_ALLOWED: "The certificate is not allowed",
}
"""What a caller reads; why a token is not valid is for the log."""


def refusal(
    decision: Unauthenticated | ForbiddenRequest,
    original: OriginalRequest,
    headers: OriginalHeaders,
) -> Reply:
    """Return the answer; for a browser that may sign in with the URL of the sign-in."""
    if isinstance(decision, ForbiddenRequest):
        return forbidden(decision)
    reason = (REASON, decision.reason.value.encode())
    added: Headers = (reason, _NO_STORE, *_challenges(decision))
    is_navigation = original.method in {"GET", "HEAD"} and is_shown_to_people(headers)
    if decision.may_sign_in and is_navigation:
        added += ((SIGN_IN, _sign_in_url(original)),)
    return Reply(HTTPStatus.UNAUTHORIZED, added)


def forbidden(decision: ForbiddenRequest) -> Reply:
    """Return the answer; with a challenge where another token would help."""
    added: Headers = ((REASON, decision.reason.value.encode()), _NO_STORE)
    if decision.error is not None:
        added += ((CHALLENGE, _challenge(decision)),)
    return Reply(HTTPStatus.FORBIDDEN, added)


def _challenges(decision: Unauthenticated) -> Headers:
    """Return the challenge, and the nonce for the next DPoP proof where that is the reason."""
    proof = decision.proof
    if proof is None:
        return ((CHALLENGE, _challenge(decision)),)
    realm = _quoted(decision.site.realms[0])
    text = proof_challenge(realm, proof.error, _quoted(proof.description))
    nonce = () if proof.nonce is None else (nonce_header(proof.nonce),)
    return ((CHALLENGE, text.encode("ascii")), *nonce)


def _challenge(decision: Unauthenticated | ForbiddenRequest) -> bytes:
    realm = decision.site.realms[0] if decision.site is not None else ""
    parts = [f'realm="{_quoted(realm)}"']
    if decision.error is not None:
        parts += [
            f'error="{decision.error}"',
            f'error_description="{_DESCRIPTIONS.get(decision.reason, _REFUSED)}"',
        ]
        if decision.reason is Reason.MISSING_SCOPE and decision.rule is not None:
            parts.append(f'scope="{_quoted(" ".join(decision.rule.requirements.scopes))}"')
    return f"Bearer {', '.join(parts)}".encode("ascii")


def _quoted(text: str) -> str:
    """Return the text in the characters of RFC 6750 §3, others as `?`."""
    return "".join(
        character if " " <= character <= "~" and character not in '"\\' else "?"
        for character in text[:_LONGEST_TEXT]
    )


def is_shown_to_people(headers: OriginalHeaders) -> bool:
    """Tell whether a browser shows the response to its user."""
    mode = headers.text(FETCH_MODE)
    if mode is not None:
        return mode == "navigate"
    accepts = headers.text(ACCEPT) or ""
    return "text/html" in accepts and headers.text(REQUESTED_WITH) is None


def _sign_in_url(original: OriginalRequest) -> bytes:
    origin = f"{original.scheme}://{original.host}"
    return f"{origin}{leading_to(SIGN_IN_PATH, f'{origin}{original.uri}')}".encode("ascii")


_COOKIE_NAMES: Final = frozenset({HOST_COOKIE, DOMAIN_COOKIE})
_MARK: Final = "realmgate-session="


def session_cookies(header: str | None) -> tuple[tuple[str, str], ...]:
    """Return names and values, the same name as often as it was sent."""
    if header is None or _MARK not in header:
        return ()
    pairs = (item.strip(" \t").partition("=") for item in header.split(";"))
    return tuple((name, value) for name, _, value in pairs if name in _COOKIE_NAMES)


def evidence_of(facts: EdgeFacts, headers: OriginalHeaders, original: OriginalRequest) -> Evidence:
    """Return what the caller sent to identify itself."""
    return Evidence(
        facts.remote_address,
        facts.secure,
        headers.text(AUTHORIZATION),
        session_cookies(headers.text(COOKIE)),
        facts.certificate,
        _sent_proof(headers, original),
        headers.unremovable,
    )


def _sent_proof(headers: OriginalHeaders, original: OriginalRequest) -> SentProof:
    """Return the DPoP proof, which has to name the request to the site."""
    text = headers.text(DPOP)
    if text is None:
        return NO_PROOF
    url = f"{original.scheme}://{original.host}{original.uri}"
    return SentProof(text, original.method, (url,))


class Dialect(ABC):
    """One kind of proxy; `name` is the last segment of its URL."""

    name: ClassVar[str]
    returns_refusals: ClassVar[bool] = False
    """The caller gets our refusals as they are, so browsers are redirected or shown a page."""
    takes_paths: ClassVar[bool] = False
    """The caller's path follows the URL."""

    @staticmethod
    @abstractmethod
    def original(scope: Scope, headers: OriginalHeaders, scheme: str, path: str) -> OriginalRequest:
        """Return the caller's request; raises AmbiguousTarget. `path` follows the URL."""


class ForwardedRequest(Dialect):
    """`X-Forwarded-Method`, `X-Forwarded-Uri`, `X-Forwarded-Host`: the proxy overwrites them.

    `X-Realmgate-Server` is the host that the proxy is configured for, and its port.
    """

    @staticmethod
    def original(
        scope: Scope,  # noqa: ARG004 - the headers have the caller's method
        headers: OriginalHeaders,
        scheme: str,
        path: str,  # noqa: ARG004 - the headers have the caller's path
    ) -> OriginalRequest:
        return OriginalRequest(
            headers.required(FORWARDED_METHOD),
            scheme,
            headers.required(FORWARDED_HOST),
            headers.required(FORWARDED_URI),
            headers.required(PROXY_SERVER),
        )


_REQUEST_LINE_PARTS: Final = 3


class Nginx(Dialect):
    """nginx's `auth_request`: the request line in `X-Original-Request`.

    The request line shows an absolute form, which nginx's own variables hide. The default server of
    a listener gets every request whose host no other server has, so nginx reports in
    `X-Realmgate-Server` which server is asking: `$server_name`, the first name of the server, and
    `$server_port`. nginx passes on 401 and 403 and the header `WWW-Authenticate`, and makes 500 of
    every other answer.
    Source: https://nginx.org/en/docs/http/ngx_http_auth_request_module.html
    """

    name: ClassVar = "nginx"

    @staticmethod
    def original(
        scope: Scope,  # noqa: ARG004 - nginx asks by GET, whatever the caller's method
        headers: OriginalHeaders,
        scheme: str,
        path: str,  # noqa: ARG004 - it is in the request line
    ) -> OriginalRequest:
        parts = headers.required(ORIGINAL_REQUEST).split(" ")
        if len(parts) != _REQUEST_LINE_PARTS:
            raise AmbiguousTarget("the request line has no three parts")
        return OriginalRequest(
            parts[0],
            scheme,
            headers.required(FORWARDED_HOST),
            parts[1],
            headers.required(PROXY_SERVER),
        )


class Traefik(ForwardedRequest):
    """Traefik's ForwardAuth; `trustForwardHeader` must be off, as it is by default.

    Traefik returns every answer but 2xx to the caller with its headers.
    Source: https://doc.traefik.io/traefik/middlewares/http/forwardauth/
    """

    name: ClassVar = "traefik"
    returns_refusals: ClassVar = True


class Caddy(ForwardedRequest):
    """Caddy's `forward_auth`, which sets `X-Forwarded-Method` and `X-Forwarded-Uri` by itself.

    Caddy returns every answer but 2xx to the caller with its headers.
    Source: https://caddyserver.com/docs/caddyfile/directives/forward_auth
    """

    name: ClassVar = "caddy"
    returns_refusals: ClassVar = True


class Haproxy(ForwardedRequest):
    """HAProxy with a Lua action that sets the headers and asks before a request is passed on.

    The action returns every answer but 200 to the caller with its headers and its page.
    Source: https://docs.haproxy.org/2.6/configuration.html, `http-request lua`
    """

    name: ClassVar = "haproxy"
    returns_refusals: ClassVar = True


class Apache(ForwardedRequest):
    """Apache with a Lua hook that sets the headers and asks before a request is passed on.

    The hook returns every answer but 200 to the caller with its headers and its page.
    Source: https://httpd.apache.org/docs/2.4/mod/mod_lua.html
    """

    name: ClassVar = "apache"
    returns_refusals: ClassVar = True


class Envoy(Dialect):
    """Envoy's HTTP service of `ext_authz`: the caller's own request, below the path prefix.

    Method and Host are the caller's; `path_prefix` is `/.realmgate/guard/envoy`. Envoy returns
    every answer but 200 to the caller with its headers.
    Source: https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/http/ext_authz/v3/ext_authz.proto
    """

    name: ClassVar = "envoy"
    returns_refusals: ClassVar = True
    takes_paths: ClassVar = True

    @staticmethod
    def original(scope: Scope, headers: OriginalHeaders, scheme: str, path: str) -> OriginalRequest:
        query = scope["query_string"].decode("latin-1")
        uri = f"{path}?{query}" if query else path
        host, server = headers.required(HOST), headers.required(PROXY_SERVER)
        return OriginalRequest(scope["method"], scheme, host, uri, server)


DIALECTS: Final[tuple[type[Dialect], ...]] = (Nginx, Traefik, Caddy, Haproxy, Apache, Envoy)
"""Every dialect; its URL is `/.realmgate/guard/` and its name."""
