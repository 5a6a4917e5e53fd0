"""From a connection and its headers to facts: address, scheme, certificate.

From anybody but the proxy the proxy's headers are ignored, and a certificate among them is a
security event. Spec: attacks A1 to A4, A20; Keycloak: 11.1, 13
"""

import ipaddress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Protocol

from starlette.types import Scope

from gateway.domain.certificates import ClientCertificate
from gateway.domain.limits.caches import cached
from gateway.domain.ports.certificates import CertificateReader, MalformedCertificate
from gateway.http.edge.headers import (
    CLIENT_VERIFY,
    FORWARDED_FOR,
    FORWARDED_PROTO,
    PROXY_SECRET,
    REQUEST_ID,
    EdgeHeaderReader,
    EdgeHeaders,
)
from gateway.http.edge.peer import ProxyTrust

_VERIFIED: Final = b"SUCCESS"
_LONGEST_ADDRESS: Final = 64
"""Characters of a remembered address: only the scope of an IPv6 address makes longer ones."""
_LARGEST_REMEMBERED: Final = 4 * 1024
"""Bytes of a certificate header: of the usual size it is decoded once, and memory stays bounded."""
_NOWHERE: Final = "unix:"
"""The address of a local peer that names none: never a local network's, so never trusted as one."""


class EdgeRefusal(Exception):
    """The proxy's headers contradict themselves; `str()` says how. The answer is 400."""


class CertificateLookup(Protocol):
    """Reads DER out of the header that a kind of proxy sends."""

    def __call__(self, value: bytes, /) -> bytes | None:
        """Return DER, None where there is no certificate; raises MalformedCertificate."""
        ...


@dataclass(frozen=True, slots=True)
class EdgeFacts:
    """What is believed about one request.

    `secure` is TLS between client and proxy. `forged_certificate` tells of a certificate header
    that was ignored because the peer is not our proxy.
    """

    remote_address: str
    secure: bool
    certificate: ClientCertificate | None
    request_id: str | None
    forged_certificate: bool
    headers: EdgeHeaders = field(repr=False)


class Edge:
    """Judges requests at the door."""

    def __init__(
        self,
        *,
        trust: ProxyTrust,
        certificate_header: str,
        certificate_lookup: CertificateLookup,
        certificates: CertificateReader,
    ) -> None:
        self._trust = trust
        self._headers = EdgeHeaderReader(certificate_header)
        self._lookup = certificate_lookup
        self._remembering_lookup = cached(2 * 1024 * 1024)(certificate_lookup)
        self._certificates = certificates

    def facts(self, scope: Scope) -> EdgeFacts:
        """Return what is believed; raises EdgeRefusal."""
        headers = self._headers.read(scope["headers"])
        client = scope["client"]
        if not self._trust.believes(client, headers.values.get(PROXY_SECRET)):
            return self._of_a_stranger(scope, headers)
        if headers.ambiguous is not None:
            raise EdgeRefusal(f"ambiguous header {headers.ambiguous.decode('latin-1')}")
        return EdgeFacts(
            remote_address=_forwarded_for(headers, client),
            secure=headers.values.get(FORWARDED_PROTO) == b"https",
            certificate=self._certificate(headers),
            request_id=headers.text(REQUEST_ID),
            forged_certificate=False,
            headers=headers,
        )

    def _of_a_stranger(self, scope: Scope, headers: EdgeHeaders) -> EdgeFacts:
        return EdgeFacts(
            remote_address=scope["client"][0] if scope["client"] else _NOWHERE,
            secure=scope["scheme"] == "https",
            certificate=None,
            request_id=None,
            forged_certificate=self._headers.certificate_header in headers.values,
            headers=headers,
        )

    def _certificate(self, headers: EdgeHeaders) -> ClientCertificate | None:
        value = headers.values.get(self._headers.certificate_header)
        if not value:
            return None
        try:
            small = len(value) <= _LARGEST_REMEMBERED
            der = self._remembering_lookup(value) if small else self._lookup(value)
            if der is None:
                return None
            verified = headers.values.get(CLIENT_VERIFY) == _VERIFIED
            return self._certificates.read(der, verified_by_proxy=verified)
        except MalformedCertificate as error:
            raise EdgeRefusal(f"undecodable client certificate: {error}") from error


def _forwarded_for(headers: EdgeHeaders, client: tuple[str, int] | None) -> str:
    forwarded = headers.text(FORWARDED_FOR)
    if forwarded is None:
        return client[0] if client else _NOWHERE
    return _address(forwarded) if len(forwarded) <= _LONGEST_ADDRESS else _parsed(forwarded)


# Asked of every request: a cache in C costs a fifth of one in Python.
@lru_cache(maxsize=4096)
def _address(text: str) -> str:
    return _parsed(text)


def _parsed(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise EdgeRefusal("X-Forwarded-For is not one IP address") from error
