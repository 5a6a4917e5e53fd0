"""What HAProxy reports: `ssl_c_der,base64`, `ssl_c_chain_der,base64` and `ssl_c_verify`.

The certificate is DER in base64, or PEM. The chain is one header with the DER of all certificates
one after the other, in base64, or a header for each. The verdict is a number of OpenSSL: 0 for a
verified certificate, else the error.

Keycloak: 11.1, provider `haproxy`.
Spec: https://docs.haproxy.org/2.6/configuration.html#7.3.4-ssl_c_verify
"""

import re
from collections.abc import Mapping
from typing import ClassVar, Final

from gateway.domain.certificates import ProxyVerdict
from gateway.http.edge.certificate_lookup.decoding import (
    from_base64,
    from_pem_or_base64,
    split_der,
    without_quotes,
)
from gateway.http.edge.certificate_lookup.lookup import (
    VERDICT_HEADER,
    CertificateLookup,
    LeafAndChain,
    Verdict,
)

_VERIFIED: Final = b"0"
_ERROR: Final = re.compile(rb"[1-9][0-9]{0,4}")


class HaproxyLookup(CertificateLookup):
    """Reads the headers of the certificate, of the chain, and the number of the verdict."""

    name: ClassVar = "haproxy"
    default_header: ClassVar = "ssl-client-cert"
    default_verdict_header: ClassVar = VERDICT_HEADER
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "ssl-cert-chain": "certificate_chain_header",
        "ssl-cert-chain-prefix": "certificate_chain_prefix",
        "certificate-chain-length": "certificate_chain_length",
        "trust-proxy-verification": "trust_proxy_verification",
    }

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        value = headers.get(self._chain_header, b"")
        chain = split_der(from_base64(value, "chain")) if value else []
        indexed = map(_decoded, self._indexed_values(headers))
        leaf = _decoded(headers.get(self.header, b""))
        return leaf, [*chain, *(der for der in indexed if der)]

    def _verdict(self, value: bytes) -> Verdict:
        if value == _VERIFIED:
            return ProxyVerdict.VERIFIED, None
        if _ERROR.fullmatch(value):
            return ProxyVerdict.FAILED, f"OpenSSL error {value.decode()}"
        return ProxyVerdict.NONE, None


def _decoded(value: bytes) -> bytes | None:
    value = without_quotes(value)
    return from_pem_or_base64(value) if value else None
