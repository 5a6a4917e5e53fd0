"""`ssl_required`: for which callers a request must have come by TLS.

Judged on the proxy's word only. Spec: 2.1 `ssl_required`; Keycloak: sslRequired
"""

import ipaddress

from gateway.domain.limits.caches import cached
from gateway.domain.realm import SslRequired


def transport_is_sufficient(required: SslRequired, remote_address: str, *, secure: bool) -> bool:
    """Tell whether a request from that address may be answered."""
    if secure or required is SslRequired.NONE:
        return True
    return required is SslRequired.EXTERNAL and _is_local(remote_address)


@cached(256 * 1024)
def _is_local(remote_address: str) -> bool:
    try:
        address = ipaddress.ip_address(remote_address)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(
        address.version == network.version and address in network for network in _LOCAL_NETWORKS
    )


_LOCAL_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "169.254.0.0/16",
        "::1/128",
        "fe80::/10",
        "fec0::/10",
        "fc00::/7",
    )
)
"""Loopback, site-local, link-local and unique-local: what Keycloak calls not external."""
