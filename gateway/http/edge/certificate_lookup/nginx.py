"""What nginx reports: `$ssl_client_escaped_cert`, URL-encoded PEM, and `$ssl_client_verify`.

The second is `SUCCESS`, `FAILED:reason` or `NONE`. nginx cannot report the chain.

Keycloak decodes by form rules and treats an unreadable header as no certificate. Here a `+` is a
plus sign, never a space (nginx escapes it), and anything but exactly one certificate is an error:
ignoring it would hide an attack or a broken proxy.

Keycloak: 11.1, provider `nginx`. Spec: RFC 7468 §5; RFC 3986 §2.1
"""

from collections.abc import Mapping
from typing import ClassVar

from gateway.http.edge.certificate_lookup.decoding import (
    FOLDED,
    from_pem,
    from_url_encoding,
    without_quotes,
)
from gateway.http.edge.certificate_lookup.lookup import (
    VERDICT_HEADER,
    CertificateLookup,
    LeafAndChain,
)


class NginxLookup(CertificateLookup):
    """Reads the header of the certificate and `ssl-client-verify`."""

    name: ClassVar = "nginx"
    default_header: ClassVar = "ssl-client-cert"
    default_verdict_header: ClassVar = VERDICT_HEADER
    default_url_encoded: ClassVar = True
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "ssl-cert-chain-prefix": "certificate_chain_prefix",
        "certificate-chain-length": "certificate_chain_length",
        "cert-is-url-encoded": "certificate_url_encoded",
        "trust-proxy-verification": "trust_proxy_verification",
    }
    own_options: ClassVar = frozenset[str]()
    variable: ClassVar = "$ssl_client_escaped_cert"
    """The nginx variable for the header of the certificate."""

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        chain = map(self._decoded, self._indexed_values(headers))
        return self._decoded(headers.get(self.header, b"")), [der for der in chain if der]

    def _decoded(self, value: bytes) -> bytes | None:
        value = without_quotes(value)
        if not value:
            return None
        if self._url_encoded:
            return from_pem(from_url_encoding(value), form="URL-encoded PEM")
        return from_pem(value, line_ends=FOLDED)
