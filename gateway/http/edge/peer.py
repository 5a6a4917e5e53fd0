"""Whether the peer of a connection is our proxy.

Only processes with permission can reach a unix socket (checked at start). A TCP peer must be in the
trusted list and send the shared secret; where a secret is configured, unix peers must send it too.
Spec: RFC 8705 §6.5, RFC 9440 §4; attacks A1, A2
"""

import hmac
import ipaddress
from collections.abc import Iterable

from gateway.domain.limits.caches import cached
from gateway.domain.secrets import Secret

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ProxyTrust:
    """Decides whether the peer of a connection is our proxy."""

    def __init__(self, trusted: Iterable[Network], secret: Secret | None) -> None:
        self._trusted = tuple(trusted)
        self._secret = secret.reveal().encode() if secret else None
        self._in_list = cached(64 * 1024)(self._listed)

    def accepts(self, client: tuple[str, int] | None, secret: bytes | None) -> bool:
        """Tell whether to trust the proxy's headers.

        `client` is the peer's address, None on a unix socket; `secret` the one that it sent.
        """
        if self._secret is None:
            return client is None
        if secret is None or not hmac.compare_digest(secret, self._secret):
            return False
        return client is None or self._in_list(client[0])

    def reason_for_distrust(self, client: tuple[str, int] | None, secret: bytes | None) -> str:
        """Return why `accepts` is False, for the log: it names settings, and never a secret."""
        if self._secret is None:
            return "a TCP peer is not trusted without REALMGATE_PROXY_SECRET"
        if secret is None:
            return "the proxy did not send the proxy secret (REALMGATE_PROXY_SECRET)"
        if not hmac.compare_digest(secret, self._secret):
            return "the proxy sent another proxy secret than REALMGATE_PROXY_SECRET"
        peer = "unix:" if client is None else client[0]
        return f"{peer} is not in REALMGATE_TRUSTED_PROXIES"

    def _listed(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(
            address.version == network.version and address in network for network in self._trusted
        )
