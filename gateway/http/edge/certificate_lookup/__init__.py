"""How each proxy reports the client certificate in headers: one file a proxy.

Keycloak: 11.1, `--spi-x509cert-lookup-provider=<id>`.
"""

from collections.abc import Mapping
from typing import Final

from gateway.http.edge.certificate_lookup.apache import ApacheLookup
from gateway.http.edge.certificate_lookup.envoy import EnvoyLookup
from gateway.http.edge.certificate_lookup.haproxy import HaproxyLookup
from gateway.http.edge.certificate_lookup.lookup import (
    LONGEST_CHAIN,
    CertificateLookup,
    ForwardedCertificate,
    LookupOptions,
)
from gateway.http.edge.certificate_lookup.nginx import NginxLookup
from gateway.http.edge.certificate_lookup.rfc9440 import Rfc9440Lookup
from gateway.http.edge.certificate_lookup.traefik import TraefikLookup

LOOKUPS: Final[Mapping[str, type[CertificateLookup]]] = {
    NginxLookup.name: NginxLookup,
    HaproxyLookup.name: HaproxyLookup,
    ApacheLookup.name: ApacheLookup,
    EnvoyLookup.name: EnvoyLookup,
    TraefikLookup.name: TraefikLookup,
    Rfc9440Lookup.name: Rfc9440Lookup,
}
"""Every lookup by its provider id, the default first; settings and flags are made from it."""
EVERY_DEFAULT_HEADER: Final = frozenset[bytes]().union(
    *(lookup.default_headers() for lookup in LOOKUPS.values())
)
"""The headers of all dialects: a client may set none of them, whichever dialect is configured."""

__all__ = [
    "EVERY_DEFAULT_HEADER",
    "LONGEST_CHAIN",
    "LOOKUPS",
    "CertificateLookup",
    "ForwardedCertificate",
    "LookupOptions",
    "NginxLookup",
]
