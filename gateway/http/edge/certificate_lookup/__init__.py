"""How each proxy writes the client certificate into a header: one file a proxy.

Keycloak: 11.1, `--spi-x509cert-lookup-provider=<id>`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from gateway.http.edge.certificate_lookup import nginx

CertificateLookup = Callable[[bytes], bytes | None]
"""Turns the value of the header into DER, an empty value into None.

Raises gateway.domain.ports.certificates.MalformedCertificate for everything else.
"""

LOOKUPS: Final[Mapping[str, CertificateLookup]] = {
    "nginx": nginx.certificate_from_header,
}
"""Every lookup by its provider id."""
