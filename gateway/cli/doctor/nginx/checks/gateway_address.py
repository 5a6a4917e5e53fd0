"""Only the proxy may reach the gateway, and no other host may read their traffic. attacks: A1."""

from collections.abc import Iterator
from ipaddress import ip_address

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    if not proxy.gateway.is_local and proxy.gateway.proxy_secret is None:
        yield Finding(
            f"other machines can reach the gateway on {proxy.gateway.listen} without the proxy",
            "REALMGATE_LISTEN=unix:PATH or 127.0.0.1:PORT; or REALMGATE_TRUSTED_PROXIES and"
            " REALMGATE_PROXY_SECRET_FILE, and a firewall",
        )
    for location in proxy.to_gateway:
        address = proxy.configuration.address(location)
        if address is None or address.scheme != "http" or address.unix:
            continue
        remote = sorted(filter(_is_remote, address.hosts))
        if remote and location.handler is not None:
            yield Finding(
                f"{location} sends passwords and the proxy secret to {remote[0]} without TLS",
                "proxy_pass https://… with proxy_ssl_verify on;, or a private network between both",
                location.handler.place,
            )


def _is_remote(host: str) -> bool:
    """Tell whether it is an address that is neither of this machine nor of a private network."""
    try:
        address = ip_address(host.rpartition(":")[0].strip("[]"))
    except ValueError:
        return False
    return address.is_global


CHECK = NginxCheck(
    "gateway-address",
    (
        "https://github.com/NginxProxyManager/nginx-proxy-manager/issues/132",
        "https://github.com/projectsend/projectsend/pull/1759",
    ),
    _find,
)
