"""From a connection and its headers to facts: address, scheme, evidence of a certificate.

From any other peer the proxy's headers are ignored, and a certificate among them is a security
event. What a certificate may be used for is decided in `gateway/certificates`, once the realm is
known. Spec: attacks A1 to A4, A20; Keycloak: 11.1, 13
"""

import ipaddress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final

from starlette.types import Scope

from gateway.domain.certificates import CertificateEvidence
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.certificates import CertificateParser, MalformedCertificate
from gateway.http.edge.certificate_lookup import EVERY_DEFAULT_HEADER, CertificateLookup
from gateway.http.edge.headers import (
    DPOP,
    FORWARDED_FOR,
    FORWARDED_PROTO,
    PROXY_SECRET,
    REQUEST_ID,
    EdgeHeaderReader,
    EdgeHeaders,
)
from gateway.http.edge.peer import ProxyTrust

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
    """The proxy's headers contradict themselves; `str()` says how. The answer is 400.

    `public_text` is the sentence for the caller.
    """

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
        headers = self._headers.read(scope["headers"])
        client = scope["client"]
        if not self._trust.accepts(client, headers.values.get(PROXY_SECRET)):
            return self._without_proxy(scope, headers)
        if headers.ambiguous is not None:
            refusal = ProofRepeated if headers.ambiguous == DPOP else EdgeRefusal
            raise refusal(f"ambiguous header {headers.ambiguous.decode('latin-1')}")
        return EdgeFacts(
            from_proxy=True,
            remote_address=_forwarded_for(headers, client),
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
        known = self._evidence.get(values)
        if known is None:
            known = self._decoded(headers)
            if known is not None:
                self._evidence.put(values, known)
        return known

    def _decoded(self, headers: EdgeHeaders) -> CertificateEvidence | None:
        try:
            found = self._lookup.find(headers.values)
            if found is None:
                return None
            for authority in found.chain:
                self._certificates.parse(authority)
            return CertificateEvidence(
                leaf=self._certificates.parse(found.leaf),
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


def _forwarded_for(headers: EdgeHeaders, client: tuple[str, int] | None) -> str:
    forwarded = headers.text(FORWARDED_FOR)
    if forwarded is None:
        return client[0] if client else _NOWHERE
    return _address(forwarded) if len(forwarded) <= _LONGEST_ADDRESS else _parsed(forwarded)


# Called for every request: a cache in C costs a fifth of one in Python.
@lru_cache(maxsize=4096)
def _address(text: str) -> str:
    return _parsed(text)


def _parsed(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise EdgeRefusal("X-Forwarded-For is not one IP address") from error
