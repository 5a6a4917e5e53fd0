"""What Traefik's middleware PassTLSClientCert reports: certificates in base64, between commas.

The first one is the leaf. Traefik 3 writes them bare; `cert-is-url-encoded` is for a proxy that
URL-encodes the header. Traefik reports no verdict, and leaves a header of the client as it is where
the connection has no certificate.

Keycloak: 11.1, provider `traefik`.
Spec: https://doc.traefik.io/traefik/middlewares/http/passtlsclientcert/
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from gateway.http.edge.certificate_lookup.decoding import from_pem_or_base64, from_url_encoding
from gateway.http.edge.certificate_lookup.lookup import CertificateLookup, LeafAndChain

_SEPARATOR: Final = b","


class TraefikLookup(CertificateLookup):
    """Reads leaf and chain from one header."""

    name: ClassVar = "traefik"
    default_header: ClassVar = "x-forwarded-tls-client-cert"
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "certificate-chain-length": "certificate_chain_length",
        "cert-is-url-encoded": "certificate_url_encoded",
        "trust-proxy-verification": "trust_proxy_verification",
    }

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        value = headers.get(self.header, b"")
        if not value:
            return None, []
        if self._url_encoded:
            value = from_url_encoding(value)
        leaf, *chain = map(from_pem_or_base64, value.split(_SEPARATOR))
        return leaf, chain
