"""What a realm requires of every request: TLS (`ssl_required`), and that the realm is enabled.

`http/guarded_endpoint.py` applies both to every route; whether a request came by TLS is what the
proxy reports. Spec: 2.1 `ssl_required`; Keycloak: sslRequired, token endpoint, checks 1 and 2
"""

import ipaddress
from http import HTTPStatus

from gateway.domain.events import EventError
from gateway.domain.limits.caches import cached
from gateway.domain.realm import Realm, SslRequired
from gateway.protocol.errors import EventFailure, OAuthError


def require_https(realm: Realm, remote_address: str, *, secure: bool) -> None:
    """Raise OAuthError (403) for a request in clear where the realm requires TLS."""
    if not transport_is_sufficient(realm.ssl_required, remote_address, secure=secure):
        raise OAuthError(
            "invalid_request",
            "HTTPS required",
            status=HTTPStatus.FORBIDDEN,
            event=EventFailure(EventError.SSL_REQUIRED),
        )


def require_enabled(realm: Realm) -> None:
    """Raise OAuthError (403) where the realm is disabled."""
    if not realm.enabled:
        raise OAuthError(
            "access_denied",
            "Realm not enabled",
            status=HTTPStatus.FORBIDDEN,
            event=EventFailure(EventError.REALM_DISABLED),
        )


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
