"""How each proxy reports the client certificate in headers: one file a proxy.

Keycloak: 11.1, `--spi-x509cert-lookup-provider=<id>`.
"""

from collections.abc import Mapping
from typing import Final

from gateway.http.edge.certificate_lookup.lookup import CertificateLookup, ForwardedCertificate
from gateway.http.edge.certificate_lookup.nginx import NginxLookup

LOOKUPS: Final[Mapping[str, type[CertificateLookup]]] = {
    NginxLookup.name: NginxLookup,
}
"""Every lookup by its provider id, the default first; settings and flags are made from it."""
