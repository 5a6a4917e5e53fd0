"""From a connection and its headers to facts: address, scheme, evidence of a certificate, proofs.

Only processes with permission can reach a unix socket (checked at start). A TCP peer must be in the
trusted list and send the shared secret; where a secret is configured, unix peers must send it too.
From any other peer the proxy's headers are ignored, and a certificate among them is a security
event. What a certificate may be used for is decided in `gateway/certificates`, once the realm is
known.

Many programs treat `_` and `-` as the same, so a name is compared in its canonical spelling, and a
spelling that the proxy does not use is rejected.
Keycloak: 11.1 certificate lookup, 13 (transport); Spec: RFC 8705 §6.5, RFC 9440 §4, RFC 9449 §4.3;
attacks: A1 to A4, A20
"""

import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final
from urllib.parse import quote, urlsplit

from starlette.types import Scope

from gateway.domain.certificates import CertificateEvidence
from gateway.domain.limits.caches import SizedCache, cached
from gateway.domain.ports.certificates import CertificateParser, MalformedCertificate
from gateway.domain.ports.client_keys import NO_PROOF, SentProof
from gateway.domain.secrets import Secret
from gateway.http.certificate_lookup import EVERY_DEFAULT_HEADER, CertificateLookup

PROXY_SECRET: Final = b"x-realmgate-proxy-secret"
FORWARDED_FOR: Final = b"x-forwarded-for"
FORWARDED_PROTO: Final = b"x-forwarded-proto"
REQUEST_ID: Final = b"x-request-id"
DPOP: Final = b"dpop"
_SET_BY_PROXY: Final = frozenset(
    {
        PROXY_SECRET,
        FORWARDED_FOR,
        FORWARDED_PROTO,
        REQUEST_ID,
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"x-realmgate-server",
    }
)
_REPEATABLE: Final = frozenset({b"accept", b"accept-language", b"user-agent"})
"""Lists, and what nothing is decided by: a repeated header continues the first.

Spec: RFC 9110 §5.3
"""
_SENT_ONCE: Final = frozenset(
    {
        b"authorization",
        b"content-type",
        b"content-length",
        b"cookie",
        DPOP,
        b"if-match",
        b"if-none-match",
        b"origin",
        b"sec-fetch-mode",
        b"sec-fetch-site",
        b"traceparent",
    }
)


@dataclass(frozen=True, slots=True)
class EdgeHeaders:
    """Headers by lower-case name; `ambiguous` names one that was repeated or misspelled."""

    values: dict[bytes, bytes] = field(repr=False)
    ambiguous: bytes | None

    def text(self, name: bytes) -> str | None:
        value = self.values.get(name)
        return None if value is None else value.decode("latin-1")


class EdgeHeaderReader:
    """Collects the headers of a request that the edge needs."""

    def __init__(self, certificate_headers: Iterable[bytes]) -> None:
        """Reserve `certificate_headers` for the proxy, besides those that every proxy sets."""
        by_proxy = _SET_BY_PROXY.union(certificate_headers)
        self._wanted = by_proxy | _SENT_ONCE | _REPEATABLE
        self._with_hyphens = frozenset(name.replace(b"_", b"-") for name in by_proxy)
        """`<prefix>_0` of a chain has an underscore itself: its other spelling is reserved too."""

    def read_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> EdgeHeaders:
        """Return the headers that the edge needs, and one that is ambiguous."""
        values: dict[bytes, bytes] = {}
        ambiguous: bytes | None = None
        for name, value in headers:
            if name in self._wanted:
                if name not in values:
                    values[name] = value
                elif name in _REPEATABLE:
                    values[name] += b"," + value
                else:
                    ambiguous = name
            elif name in self._with_hyphens or (
                b"_" in name and name.replace(b"_", b"-") in self._with_hyphens
            ):
                ambiguous = name
        return EdgeHeaders(values, ambiguous)


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ProxyTrust:
    """Decides whether the peer of a connection is our proxy."""

    def __init__(self, trusted: Iterable[Network], secret: Secret | None) -> None:
        self._trusted = tuple(trusted)
        self._secret = secret.reveal().encode() if secret else None
        self._in_list = cached(64 * 1024)(self._listed)

    def accepts(self, client: tuple[str, int] | None, secret: bytes | None) -> bool:
        """Tell whether a peer (None: unix socket) with this secret is our proxy."""
        if self._secret is None:
            return client is None
        if secret is None or not hmac.compare_digest(secret, self._secret):
            return False
        return client is None or self._in_list(client[0])

    def reason_for_distrust(self, client: tuple[str, int] | None, secret: bytes | None) -> str:
        """Return why `accepts` is False, for the log: it names settings, and never a secret."""
        if self._secret is None:
            return "a TCP peer is not trusted without REALMGATE_PROXY_SECRET"
        if secret is None:
            return "the proxy did not send the proxy secret (REALMGATE_PROXY_SECRET)"
        if not hmac.compare_digest(secret, self._secret):
            return "the proxy sent another proxy secret than REALMGATE_PROXY_SECRET"
        peer = "unix:" if client is None else client[0]
        return f"{peer} is not in REALMGATE_TRUSTED_PROXIES"

    def _listed(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(
            address.version == network.version and address in network for network in self._trusted
        )


_REMEMBERED_BYTES: Final = 4 * 1024 * 1024
"""Memory of a worker for evidence: that of about a thousand usual certificates."""
_PARSED: Final = 2048
"""Bytes of a parsed certificate besides its encoding, a few names and numbers."""
_LONGEST_ADDRESS: Final = 64
"""Characters of a cached address: only an IPv6 address with a scope is longer."""
_SENT_BY_A_PROXY: Final = (PROXY_SECRET, FORWARDED_FOR, FORWARDED_PROTO)
_NOWHERE: Final = "unix:"
"""The address of a local peer without one: in no local network, so never trusted as one."""


_Values = tuple[bytes | None, ...]


class EdgeRefusal(Exception):
    """The proxy's headers contradict themselves; `str()` says how, for logs. 400."""

    public_text: ClassVar = "Malformed request from the proxy"


class ProofRepeated(EdgeRefusal):
    """The client sent several DPoP proofs. Spec: RFC 9449 §4.3, number 1."""

    public_text: ClassVar = "The header DPoP was sent more than once"


class CertificateUnreadable(EdgeRefusal):
    """The proxy forwarded what is no certificate, or one that no program here can read."""

    public_text: ClassVar = "The client certificate cannot be read"


@dataclass(frozen=True, slots=True)
class EdgeFacts:
    """What the proxy reports about one request, or the connection itself without a proxy.

    `from_proxy` says that the peer is our proxy, `secure` is TLS between client and proxy.
    `forged_certificate`: a certificate header was ignored because the peer is not our proxy.
    `ignored`: why headers of a proxy were ignored, None where there were none.
    """

    from_proxy: bool
    remote_address: str
    secure: bool
    certificate: CertificateEvidence | None
    request_id: str | None
    forged_certificate: bool
    ignored: str | None
    headers: EdgeHeaders = field(repr=False)
    method: str = ""
    """Empty for a WebSocket."""
    target: bytes = field(default=b"", repr=False)
    """The path as sent, maybe with the query."""

    @property
    def path(self) -> bytes:
        """The path as sent, without the query."""
        return self.target.partition(b"?")[0]


class Edge:
    """Reads what the proxy reports about requests."""

    def __init__(
        self,
        *,
        trust: ProxyTrust,
        lookup: CertificateLookup,
        certificates: CertificateParser,
    ) -> None:
        self._trust = trust
        self._headers = EdgeHeaderReader(EVERY_DEFAULT_HEADER | lookup.headers)
        self._proxy_headers = {*lookup.headers, *_SENT_BY_A_PROXY}
        self._lookup = lookup
        self._certificates = certificates
        self._certificate_headers = tuple(lookup.headers)
        self._evidence: SizedCache[_Values, CertificateEvidence] = SizedCache(
            _REMEMBERED_BYTES, _weight
        )

    def facts(self, scope: Scope) -> EdgeFacts:
        """Return the facts of one request; raises EdgeRefusal."""
        headers = self._headers.read_headers(scope["headers"])
        client = scope["client"]
        if not self._trust.accepts(client, headers.values.get(PROXY_SECRET)):
            return self._without_proxy(scope, headers)
        if headers.ambiguous is not None:
            refusal = ProofRepeated if headers.ambiguous == DPOP else EdgeRefusal
            raise refusal(f"ambiguous header {headers.ambiguous.decode('latin-1')}")
        forwarded = headers.text(FORWARDED_FOR)
        if forwarded is None:
            address = client[0] if client else _NOWHERE
        else:
            short = len(forwarded) <= _LONGEST_ADDRESS
            address = _address(forwarded) if short else _parsed(forwarded)
        return EdgeFacts(
            from_proxy=True,
            remote_address=address,
            secure=headers.values.get(FORWARDED_PROTO) == b"https",
            certificate=self._certificate(headers),
            request_id=headers.text(REQUEST_ID),
            forged_certificate=False,
            ignored=None,
            headers=headers,
            method=scope.get("method", ""),
            target=scope.get("raw_path") or _unescaped(scope),
        )

    def _without_proxy(self, scope: Scope, headers: EdgeHeaders) -> EdgeFacts:
        client = scope["client"]
        ignored = None
        if not self._proxy_headers.isdisjoint(headers.values):
            ignored = self._trust.reason_for_distrust(client, headers.values.get(PROXY_SECRET))
        return EdgeFacts(
            from_proxy=False,
            remote_address=client[0] if client else _NOWHERE,
            secure=scope["scheme"] == "https",
            certificate=None,
            request_id=None,
            forged_certificate=self._lookup.header in headers.values,
            ignored=ignored,
            headers=headers,
            method=scope.get("method", ""),
            target=scope.get("raw_path") or _unescaped(scope),
        )

    def _certificate(self, headers: EdgeHeaders) -> CertificateEvidence | None:
        """Return the evidence, decoded once for the same values of all headers of the lookup."""
        values = tuple(map(headers.values.get, self._certificate_headers))
        if not any(values):
            return None
        known = self._evidence.get(values)
        if known is None:
            known = self._decoded(headers)
            if known is not None:
                self._evidence.put(values, known)
        return known

    def _decoded(self, headers: EdgeHeaders) -> CertificateEvidence | None:
        try:
            found = self._lookup.find_certificate(headers.values)
            if found is None:
                return None
            for authority in found.chain:
                self._certificates.parse_certificate(authority)
            return CertificateEvidence(
                leaf=self._certificates.parse_certificate(found.leaf),
                verdict=found.verdict,
                lookup=self._lookup.name,
                reason=found.reason,
                chain=found.chain,
            )
        except MalformedCertificate as error:
            raise CertificateUnreadable(f"undecodable client certificate: {error}") from error


def _unescaped(scope: Scope) -> bytes:
    path: str = scope.get("path", "")
    return path.encode("utf-8", "replace")


def _weight(values: _Values, evidence: CertificateEvidence) -> int:
    chain = sum(map(len, evidence.chain))
    return sum(len(value or b"") for value in values) + len(evidence.leaf.der) + chain + _PARSED


# Called for every request: a cache in C costs a fifth of one in Python.
@lru_cache(maxsize=4096)
def _address(text: str) -> str:
    return _parsed(text)


def _parsed(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise EdgeRefusal("X-Forwarded-For is not one IP address") from error


def sent_proof(facts: EdgeFacts, addresses: Iterable[str]) -> SentProof:
    """Return the proof of a request at `addresses`, with or without the path of these."""
    text = facts.headers.text(DPOP)
    if text is None:
        return NO_PROOF
    path = facts.path.decode("ascii") if facts.path.isascii() else quote(facts.path, safe="/%")
    urls = (url for base in addresses for url in (f"{base}{path}", f"{_origin(base)}{path}"))
    return SentProof(_once(facts, text), facts.method, tuple(dict.fromkeys(urls)))


def _once(facts: EdgeFacts, text: str) -> str:
    """Return the text, empty where the header was sent twice. Spec: RFC 9449 §4.3, number 1."""
    return "" if facts.headers.ambiguous == DPOP else text


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
