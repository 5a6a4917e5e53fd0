"""What a proxy reports by RFC 9440: `Client-Cert` and `Client-Cert-Chain`.

Each certificate is a structured byte sequence, `:<base64 of the DER>:`; the chain is a list of them
without the leaf. Base64 has to be padded, and a chain in more than one header line is refused: one
of the lines could be the client's. The standard has no header for a verdict.

Keycloak: 11.1, provider `rfc9440`. Spec: RFC 9440 §2; RFC 8941 §3.1, §3.3.5
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from gateway.domain.ports.certificates import MalformedCertificate
from gateway.http.edge.certificate_lookup.decoding import from_base64
from gateway.http.edge.certificate_lookup.lookup import CertificateLookup, LeafAndChain

_WHITE_SPACE: Final = b" \t"
_COLON: Final = b":"
_SEPARATOR: Final = b","


class Rfc9440Lookup(CertificateLookup):
    """Reads the leaf from one header and the chain from another."""

    name: ClassVar = "rfc9440"
    default_header: ClassVar = "client-cert"
    default_chain_header: ClassVar = "client-cert-chain"
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "ssl-cert-chain": "certificate_chain_header",
        "certificate-chain-length": "certificate_chain_length",
        "trust-proxy-verification": "trust_proxy_verification",
    }

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        leaf, chain = headers.get(self.header, b""), headers.get(self._chain_header, b"")
        items = chain.split(_SEPARATOR) if chain else []
        return (
            _byte_sequence(leaf) if leaf else None,
            [_byte_sequence(item.strip(_WHITE_SPACE)) for item in items],
        )


def _byte_sequence(item: bytes) -> bytes:
    if not item.startswith(_COLON) or not item.endswith(_COLON):
        raise MalformedCertificate("header is not a byte sequence between colons")
    return from_base64(item[1:-1], "byte sequence")
