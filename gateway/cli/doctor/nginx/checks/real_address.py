"""`set_real_ip_from` of every address lets callers choose their own. attacks: A20."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    lines = {
        line for server in proxy.sensitive for line in server.scope.in_force("set_real_ip_from")
    }
    for line in sorted(lines, key=lambda line: line.place):
        if line.arguments and line.arguments[0].endswith("/0"):
            yield Finding(
                f"set_real_ip_from {line.arguments[0]} lets every caller name another address, and"
                " so avoid lock-outs or lock others out",
                "set_real_ip_from with the addresses of your own load balancers",
                line.place,
            )


CHECK = NginxCheck(
    "real-address",
    (
        "https://github.com/kubernetes/ingress-nginx/issues/200",
        "https://github.com/cloudendpoints/endpoints-tools/issues/12",
    ),
    _find,
)
