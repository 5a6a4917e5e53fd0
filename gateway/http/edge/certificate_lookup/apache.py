"""What Apache reports: `SSL_CLIENT_CERT`, PEM with spaces for its line ends, and SSL_CLIENT_VERIFY.

mod_headers writes `(null)` for a variable that is not set: no certificate. The verdict is
`SUCCESS`, `FAILED:reason`, `NONE`, or `GENEROUS` where `SSLVerifyClient optional_no_ca` let a
certificate pass whose issuer Apache could not verify.

Keycloak: 11.1, provider `apache`. Spec: RFC 7468 §5;
https://httpd.apache.org/docs/2.4/mod/mod_ssl.html#envvars
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from gateway.domain.certificates import ProxyVerdict
from gateway.http.edge.certificate_lookup.decoding import from_pem_or_base64, without_quotes
from gateway.http.edge.certificate_lookup.lookup import (
    VERDICT_HEADER,
    CertificateLookup,
    LeafAndChain,
    Verdict,
    verdict_in_words,
)

_UNSET: Final = (b"", b"(null)")
_GENEROUS: Final = b"GENEROUS"


class ApacheLookup(CertificateLookup):
    """Reads the header of the certificate, the chain by index, and `ssl-client-verify`."""

    name: ClassVar = "apache"
    default_header: ClassVar = "ssl-client-cert"
    default_verdict_header: ClassVar = VERDICT_HEADER
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "ssl-cert-chain-prefix": "certificate_chain_prefix",
        "certificate-chain-length": "certificate_chain_length",
        "trust-proxy-verification": "trust_proxy_verification",
    }

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        chain = map(_decoded, self._indexed_values(headers))
        return _decoded(headers.get(self.header, b"")), [der for der in chain if der]

    def _verdict(self, value: bytes) -> Verdict:
        if value == _GENEROUS:
            return ProxyVerdict.FAILED, "GENEROUS: the issuer could not be verified"
        return verdict_in_words(value)


def _decoded(value: bytes) -> bytes | None:
    value = without_quotes(value)
    return None if value in _UNSET else from_pem_or_base64(value)
