"""Forward authentication: requests that a proxy asks about, protected sites, rules, decisions.

A request that a proxy and a service could read differently is refused, never repaired. A rule is
compared with the decoded path of the target. The first rule of a site whose path and method match
decides. Names of the rules file and of the gateway itself are reserved: a site with the gateway's
host would have its pages and cookies beside the sign-in pages, in the same origin. The session of a
browser at a site lasts with a user session of the realm. The sign-in of a site uses the code flow
with PKCE (S256), requires `iss` in the response, and signs no request.
Source: attacks B1, B3, B4; RFC 3986 §3.3; RFC 9112 §3.2
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from ipaddress import ip_address
from typing import Final, Self
from urllib.parse import unquote_plus, unquote_to_bytes, urlsplit

from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.hosts import RULES_FILE, AmbiguousTarget, HostOwners, canonical_host, is_below

LONGEST_URI: Final = 8192
"""The longest request target in bytes."""
_SCHEMES: Final = frozenset({"http", "https"})
_METHOD: Final = re.compile(r"[A-Z0-9!#$%&'*+.^_`|~-]{1,32}")
_URI: Final = re.compile(r"/[!-~]*")
_PLAIN_PATH: Final = re.compile(r"(/[A-Za-z0-9_~!$&'()*+,=:@-][A-Za-z0-9._~!$&'()*+,=:@-]*)+/?")
_INVALID_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2}|[uU])")
_CHARACTERS: Final = frozenset("\\;#?")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
_METHOD_OVERRIDE: Final = "_method"


@dataclass(frozen=True, slots=True)
class OriginalRequest:
    """The caller's request line as the proxy reports it.

    `uri` is the request target as sent: path and query. `host` is the Host header, with the port
    where the caller named one. `server` is name and port of the proxy's server that received the
    request, which the caller's host does not choose alone; None for an operator's question.
    """

    method: str
    scheme: str
    host: str
    uri: str = field(repr=False)
    server: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """The part of a request that rules are compared with; `path` is decoded once: nginx's `$uri`.

    `host` is in lower case, and has a port only if it is not the default of the scheme.
    """

    method: str
    scheme: str
    host: str
    path: str


def target_of(original: OriginalRequest) -> Target:
    """Return what the request asks for; raises AmbiguousTarget."""
    if _METHOD.fullmatch(original.method) is None:
        raise AmbiguousTarget("the method is no token in upper case")
    if original.scheme not in _SCHEMES:
        raise AmbiguousTarget("the scheme is neither http nor https")
    path, separator, query = _request_target(original.uri).partition("?")
    if separator:
        _check_query(query)
    return Target(
        original.method,
        original.scheme,
        canonical_host(original.host, original.scheme),
        path if _PLAIN_PATH.fullmatch(path) else _decoded(path),
    )


def check_path(path: str) -> None:
    """Check a decoded path; raises AmbiguousTarget where a service could read another one."""
    if not path.startswith("/"):
        raise AmbiguousTarget("the path does not begin with a slash")
    _check_characters(path)
    _check_segments(path)
    if not path.isascii():
        compatible = unicodedata.normalize("NFKC", path)
        if compatible.count("/") != path.count("/"):
            raise AmbiguousTarget("a character of the path stands for a slash")
        _check_characters(compatible)
        _check_segments(compatible)


def _request_target(uri: str) -> str:
    if len(uri) > LONGEST_URI:
        raise AmbiguousTarget(f"the request target is longer than {LONGEST_URI} bytes")
    if _URI.fullmatch(uri) is None:
        raise AmbiguousTarget("the request target is no path of printable ASCII characters")
    return uri


def _decoded(path: str) -> str:
    if _INVALID_ESCAPE.search(path):
        raise AmbiguousTarget("the path has an invalid percent-encoding")
    if "%2f" in path.lower():
        raise AmbiguousTarget("the path has an encoded slash")
    try:
        decoded = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        raise AmbiguousTarget("the path is not UTF-8") from None
    check_path(decoded)
    return decoded


def _check_characters(path: str) -> None:
    if not _CHARACTERS.isdisjoint(path):
        raise AmbiguousTarget("the path has a backslash, semicolon, number sign or question mark")
    if any(unicodedata.category(character) in _INVISIBLE for character in path):
        raise AmbiguousTarget("the path has a control character or one without a shape")
    if _ESCAPE.search(path):
        raise AmbiguousTarget("the path is percent-encoded twice")


def _check_segments(path: str) -> None:
    *middle, last = path.split("/")[1:]
    for segment in middle if last == "" else [*middle, last]:
        if segment.strip(" .") == "":
            raise AmbiguousTarget("the path has an empty segment or a dot segment")
        if segment != segment.strip():
            raise AmbiguousTarget("a segment of the path begins or ends with white space")


def _check_query(query: str) -> None:
    if "#" in query:
        raise AmbiguousTarget("the request target has a fragment")
    if "%" not in query and "method" not in query.lower():
        return
    for parameter in re.split("[&;]", query):
        name = unquote_plus(parameter.partition("=")[0]).lstrip().lower()
        if name.replace(".", "_").replace(" ", "_").startswith(_METHOD_OVERRIDE):
            raise AmbiguousTarget("the query overrides the method")


_BELOW: Final = "/*"


class AcceptedCredential(StrEnum):
    """What a caller may identify itself with."""

    SESSION = "session"
    BEARER = "bearer"
    CERTIFICATE = "certificate"


EVERY_CREDENTIAL: Final = frozenset(AcceptedCredential)


class BearerAudience(StrEnum):
    """The `aud` that a bearer token needs where the rule names no audiences."""

    SITE = "site"
    """The site's client. A site without a client accepts no token then."""
    ANY = "any"
    """Every token of the site's realms, also one for another service."""


@dataclass(frozen=True, slots=True)
class PathPattern:
    """`/admin` is that path, `/admin/*` is `/admin` and everything below, `/*` is every path.

    Text is decoded: `/café`, not `/caf%C3%A9`. Raises ValueError for a pattern that is no path or
    has a `*` anywhere but as its last segment.
    """

    text: str

    def __post_init__(self) -> None:
        path = "/" if self.text == _BELOW else self.path
        if len(self.text) > LONGEST_URI:
            raise ValueError(f"a path of at most {LONGEST_URI} characters")
        if "*" in path or (self.covers_below and self.path.endswith("/")):
            raise ValueError("a path with `*` as its last segment alone")
        try:
            check_path(path)
        except AmbiguousTarget as refusal:
            raise ValueError(str(refusal)) from None

    @property
    def covers_below(self) -> bool:
        """Whether it matches everything below the path too."""
        return self.text.endswith(_BELOW)

    @property
    def path(self) -> str:
        """The path without `/*`; empty for every path."""
        return self.text.removesuffix(_BELOW)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What an identity needs: one of each kind that is not empty.

    `client_roles` are `client/role`. `groups` are paths such as `/a/b`; a group covers its
    subgroups. `certificates` are names of a certificate that the realm trusts, see
    `CertificateName`.
    """

    realm_roles: tuple[str, ...] = ()
    client_roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """Which requests it decides and what they need.

    `methods` is None for every method; GET covers HEAD. An `anonymous` rule lets every caller
    pass and asserts no identity. With `bound_only` a bearer token has to be bound to the caller's
    certificate or to a DPoP key. A bearer token needs one of the `audiences` in its `aud`; without
    them the site decides.
    """

    name: str
    paths: tuple[PathPattern, ...]
    methods: frozenset[str] | None = None
    anonymous: bool = False
    requirements: Requirements = Requirements()
    accepts: frozenset[AcceptedCredential] = EVERY_CREDENTIAL
    bound_only: bool = False
    audiences: tuple[str, ...] = ()

    @property
    def decided_methods(self) -> frozenset[str] | None:
        """The methods of the requests that it decides, None for every method."""
        if self.methods is None or "GET" not in self.methods:
            return self.methods
        return self.methods | {"HEAD"}


@dataclass(frozen=True, slots=True)
class Site:
    """Protected hosts with one list of rules.

    `hosts` are in the normal form of `hosts.py`, and may be wildcards. `realms[0]`
    signs browsers in as `client` (a clientId; None: browsers are not signed in). Bearer tokens of
    any of the `realms` count by their issuer, certificates by the first realm that trusts them.
    `audience` asks for a JWT for the service, which names it. With `cookie_domain` the hosts share
    one session cookie. `bearer_audience` is None for a site that was stored, or written into the
    rules file, without it: every token counts, with a warning. Without `forward_authorization` the
    proxy removes the header Authorization before the service.
    """

    name: str
    hosts: tuple[str, ...]
    realms: tuple[str, ...]
    rules: tuple[Rule, ...]
    client: str | None = None
    audience: str | None = None
    cookie_domain: str | None = None
    bearer_audience: BearerAudience | None = None
    forward_authorization: bool = True

    def token_audiences(self, rule: Rule) -> tuple[str, ...] | None:
        """Return the audiences of which a bearer token needs one; None where none is needed."""
        if rule.audiences:
            return rule.audiences
        if self.bearer_audience is not BearerAudience.SITE:
            return None
        return () if self.client is None else (self.client,)

    @property
    def unchecked_rules(self) -> tuple[Rule, ...]:
        """The rules that accept bearer tokens for other services."""
        return tuple(
            rule
            for rule in self.rules
            if not rule.anonymous
            and AcceptedCredential.BEARER in rule.accepts
            and self.token_audiences(rule) is None
        )


@dataclass(frozen=True, slots=True)
class UnreadableSite:
    """A site of a later version, with the reason; its hosts are refused, it can be replaced."""

    name: str
    realm: str
    reason: str


class Reason(StrEnum):
    """Why a request is refused, as the header `X-Realmgate-Reason` says."""

    AMBIGUOUS_REQUEST = "ambiguous_request"
    UNKNOWN_HOST = "unknown_host"
    NO_RULE = "no_rule"
    HTTPS_REQUIRED = "https_required"
    """The realm requires TLS between caller and proxy."""
    NO_CREDENTIAL = "no_credential"
    CREDENTIAL_NOT_ACCEPTED = "credential_not_accepted"
    """The rule does not accept credentials of this kind."""
    INVALID_SESSION = "invalid_session"
    INVALID_TOKEN = "invalid_token"  # noqa: S105 - a reason
    CERTIFICATE_MISMATCH = "certificate_mismatch"
    """The token is bound to another certificate than the caller's."""
    PROOF_MISMATCH = "proof_mismatch"
    """The token is bound to a DPoP key, and the request has no valid proof of it."""
    AUDIENCE_NOT_ALLOWED = "audience_not_allowed"
    """The token's `aud` has no audience that the site or the rule expects."""
    TOKEN_NOT_BOUND = "token_not_bound"  # noqa: S105 - a reason
    UNTRUSTED_CERTIFICATE = "untrusted_certificate"
    REALM_NOT_ALLOWED = "realm_not_allowed"
    """The credential is of a realm that the site does not name."""
    MISSING_REALM_ROLE = "missing_realm_role"
    MISSING_CLIENT_ROLE = "missing_client_role"
    MISSING_SCOPE = "missing_scope"
    MISSING_GROUP = "missing_group"
    CLIENT_NOT_ALLOWED = "client_not_allowed"
    CERTIFICATE_NOT_ALLOWED = "certificate_not_allowed"


@dataclass(frozen=True, slots=True)
class AssertedIdentity:
    """What the gateway asserts about the caller; rights are those of this moment.

    `subject` is the user's id; for a client its service account's id, or `client:` and its internal
    id where it has none; for a certificate alone the subject of it. `client_id` is the clientId
    that the token or session was issued to, or that the certificate belongs to. `client_roles`
    are `client/role`, `groups` are paths. `thumbprint` is that of the certificate that the token
    is bound to or that is the credential itself, base64url; `proof_key` that of the DPoP key that
    the token is bound to. `audiences` are the `aud` of a bearer token. `certificate` is the
    caller's, where the realm trusts it; nothing that is asserted depends on it, so it is not
    compared.
    """

    realm: str
    kind: AcceptedCredential
    subject: str
    username: str
    email: str | None = None
    email_verified: bool = False
    groups: tuple[str, ...] = ()
    realm_roles: frozenset[str] = frozenset()
    client_roles: frozenset[str] = frozenset()
    client_id: str | None = None
    scopes: frozenset[str] = frozenset()
    thumbprint: str | None = None
    proof_key: str | None = None
    audiences: frozenset[str] = frozenset()
    session_id: str | None = field(default=None, repr=False)
    certificate: ClientCertificate | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The request may pass; `identity` is None at an anonymous rule."""

    site: Site
    rule: Rule
    identity: AssertedIdentity | None
    explanation: str


@dataclass(frozen=True, slots=True)
class ProofChallenge:
    """Why a DPoP proof is refused: a code of RFC 9449 §7.1, and the nonce for the next proof."""

    error: str
    description: str
    nonce: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Unauthenticated:
    """The request lacks a valid credential: 401.

    `error` is the code of RFC 6750 §3.1, None where no credential was sent. `proof` says what
    is wrong with the DPoP proof that the token needs. `may_sign_in` says that a browser can get a
    session at this site.
    """

    reason: Reason
    explanation: str
    site: Site
    rule: Rule
    may_sign_in: bool = False
    error: str | None = None
    proof: ProofChallenge | None = None


@dataclass(frozen=True, slots=True)
class ForbiddenRequest:
    """403 in any case; `identity` of a known caller, `error` by RFC 6750 §3.1 or None.

    `is_unclaimed`: no site has the host of the request.
    """

    reason: Reason
    explanation: str
    site: Site | None = None
    rule: Rule | None = None
    identity: AssertedIdentity | None = None
    error: str | None = None
    is_unclaimed: bool = False


Decision = Allowed | Unauthenticated | ForbiddenRequest


OWN_PATHS: Final = "/.realmgate/"
"""The paths of a protected host that belong to the gateway."""
CALLBACK_PATH: Final = f"{OWN_PATHS}callback"
"""Where a browser comes back to after its sign-in."""


def callback_of(host: str) -> str:
    """Return the redirect URI of a host of a site."""
    return f"https://{host}{CALLBACK_PATH}"


_METHODS: Final = frozenset({"", "S256"})


def unusable_setting(client: Client) -> str | None:
    """Return why an OpenID Connect client cannot be used, for logs and administrators, or None."""
    found = _unusable(client)
    return None if found is None else found[0]


def usable_setting(client: Client) -> str:
    """Return the field of the client's representation that mends `unusable_setting`."""
    found = _unusable(client)
    return "" if found is None else found[1]


def _unusable(client: Client) -> tuple[str, str] | None:
    """Return why the client cannot be used, and the field with a value that sites can use."""
    authorization, objects = client.authorization, client.request_objects
    if not client.standard_flow_enabled:
        reason = "standardFlowEnabled is false, but sites use the standard flow"
        return reason, "standardFlowEnabled=true"
    if authorization.code_challenge_method not in _METHODS:
        method = authorization.code_challenge_method
        reason = f"pkce.code.challenge.method is {method}, but sites use S256"
        return reason, 'attributes={"pkce.code.challenge.method": "S256"}'
    if authorization.exclude_issuer:
        reason = "exclude.issuer.from.auth.response is true, but sites require iss"
        return reason, 'attributes={"exclude.issuer.from.auth.response": "false"}'
    if objects.allowed_parameters:
        reason = f"request.object.required is {objects.required}, but sites sign no request"
        return reason, 'attributes={"request.object.required": "not required"}'
    return None


HOST_COOKIE: Final = "__Host-realmgate-session"
"""The session cookie of a site with hosts of its own."""
DOMAIN_COOKIE: Final = "__Secure-realmgate-session"
"""The session cookie that the hosts below a domain share."""


@dataclass(frozen=True, slots=True)
class SiteSession:
    """The user session that a session cookie names; `client` is a clientId.

    `site` is the scope in which the cookie is valid: see `cookie_scope`.
    """

    site: str
    realm_id: str
    client: str
    user_id: str
    session_id: str = field(repr=False)
    created_at: datetime
    generation: int | None = None
    """Of the client session; None for a session that an earlier version began."""


def cookie_name(site: Site) -> str:
    """Return the name of the site's session cookie."""
    return HOST_COOKIE if site.cookie_domain is None else DOMAIN_COOKIE


def cookie_scope(site: Site) -> str:
    """Return what a session is valid for: the site alone, or every site of a cookie domain."""
    return site.name if site.cookie_domain is None else f".{site.cookie_domain}"


GATEWAY: Final = "the gateway"
"""The owner of the hosts of the gateway's public URLs."""


@dataclass(frozen=True, slots=True)
class ReservedNames:
    """Hosts with their owners, and pairs of cookie domain and realm of the rules file."""

    hosts: HostOwners
    cookie_domains: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, sites: Iterable[Site], public_urls: Iterable[str]) -> Self:
        """Reserve the names of the sites of the rules file and of the gateway's URLs."""
        listed = tuple(sites)
        owned = [(host, RULES_FILE) for site in listed for host in site.hosts]
        owned += [(host_of_url(url), GATEWAY) for url in public_urls]
        domains = tuple(
            (site.cookie_domain, site.realms[0]) for site in listed if site.cookie_domain
        )
        return cls(HostOwners(owned), domains)


def host_of_url(url: str) -> str:
    """Return the host of a public URL as sites write it, without the port."""
    name = (urlsplit(url).hostname or "").removesuffix(".")
    try:
        address = ip_address(name)
    except ValueError:
        return name
    return str(address) if address.version == 4 else f"[{address}]"  # noqa: PLR2004


def share_cookies(one: str, other: str) -> bool:
    """Tell whether browsers send the cookies of both domains to one host."""
    return is_below(one, other) or is_below(other, one)


def contested_domains(sites: Iterable[Site]) -> Iterator[tuple[Site, Site]]:
    """Yield pairs of sites whose browsers sign in at two realms and share a cookie domain."""
    sharing = [site for site in sites if site.cookie_domain is not None]
    for place, one in enumerate(sharing):
        for other in sharing[:place]:
            domains = (one.cookie_domain or "", other.cookie_domain or "")
            if one.realms[0] != other.realms[0] and share_cookies(*domains):
                yield other, one
