"""What Envoy reports: `x-forwarded-client-cert` (XFCC), elements of `Key=value` pairs.

`Chain` holds the leaf and its chain, `Cert` the leaf alone, both URL-encoded PEM. Keycloak reads
`Chain` alone. Exactly one element is accepted: with `APPEND_FORWARD` or `FORWARD_ONLY` another one
could be the client's own, so Envoy needs `SANITIZE_SET`. Envoy reports no verdict.

Envoy writes URIs and DNS names of the certificate as they are, so they can contain `;Chain=` and
the certificate of another client: `Hash`, which Envoy writes before them, has to be of the leaf.

Keycloak: 11.1, provider `envoy`. Spec:
https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/headers#x-forwarded-client-cert
"""

import hashlib
import re
from collections.abc import Mapping
from typing import ClassVar, Final

from gateway.domain.ports.certificates import MalformedCertificate
from gateway.http.edge.certificate_lookup.decoding import (
    from_pem,
    from_pem_blocks,
    from_url_encoding,
)
from gateway.http.edge.certificate_lookup.lookup import CertificateLookup, LeafAndChain

_PAIR: Final = re.compile(rb'([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^",;]*))(;|,|\Z)', re.DOTALL)
_CERTIFICATE, _CHAIN, _HASH = b"cert", b"chain", b"hash"
_READ: Final = frozenset({_CERTIFICATE, _CHAIN, _HASH})


class EnvoyLookup(CertificateLookup):
    """Reads `Chain`, `Cert` and `Hash` of the one element of the header."""

    name: ClassVar = "envoy"
    default_header: ClassVar = "x-forwarded-client-cert"
    options: ClassVar = {"trust-proxy-verification": "trust_proxy_verification"}

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        pairs = _pairs(headers.get(self.header, b""))
        chain = from_pem_blocks(pairs[_CHAIN]) if _CHAIN in pairs else []
        leaf = from_pem(pairs[_CERTIFICATE]) if _CERTIFICATE in pairs else None
        if chain and leaf is not None and leaf != chain[0]:
            raise MalformedCertificate("Cert is not the first certificate of Chain")
        leaf = chain[0] if chain else leaf
        if leaf is not None and _HASH in pairs and pairs[_HASH].lower() != _sha256(leaf):
            raise MalformedCertificate("Hash is not that of the certificate")
        return leaf, chain[1:]


def _pairs(value: bytes) -> dict[bytes, bytes]:
    """Return the decoded values of Cert, Chain and Hash, as far as they are there and not empty."""
    found: dict[bytes, bytes] = {}
    start = 0
    while start < len(value):
        pair = _PAIR.match(value, start)
        if pair is None:
            raise MalformedCertificate("header is not a list of Key=value pairs")
        key, quoted, plain, end = pair.groups()
        if end == b",":
            raise MalformedCertificate("header has more than one element: SANITIZE_SET is needed")
        if key.lower() in _READ:
            if key.lower() in found:
                raise MalformedCertificate(f"header has {key.decode()} more than once")
            found[key.lower()] = from_url_encoding(plain if quoted is None else quoted)
        start = pair.end()
    return {key: text for key, text in found.items() if text}


def _sha256(der: bytes) -> bytes:
    return hashlib.sha256(der).hexdigest().encode()
