"""TLS to the gateway must verify its certificate; nginx does not by default.

Source: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_ssl_verify
"""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.to_gateway:
        address, handler = proxy.configuration.address(location), location.handler
        if address is None or handler is None or address.scheme != "https":
            continue
        if location.scope.value("proxy_ssl_verify", "off") == "off":
            found = location.scope.in_force("proxy_ssl_verify")
            yield Finding(
                f"{location} sends the proxy secret to every server that answers for the gateway",
                "proxy_ssl_verify on; proxy_ssl_trusted_certificate FILE; proxy_ssl_name NAME;",
                found[-1].place if found else handler.place,
            )


CHECK = NginxCheck(
    "gateway-certificate",
    (
        "https://github.com/kubernetes/ingress-nginx/issues/7083",
        "https://github.com/vouch/vouch-proxy/pull/428",
    ),
    _find,
)
