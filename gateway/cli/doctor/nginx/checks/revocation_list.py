"""nginx accepts revoked certificates where it has no revocation list. attacks: A9."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for server in proxy.configuration.servers:
        if server.scope.value("ssl_verify_client", "off") not in {"on", "optional"}:
            continue
        if not server.scope.in_force("ssl_crl"):
            line = server.scope.in_force("ssl_verify_client")[-1]
            yield Finding(
                "client certificates are verified without a revocation list",
                "ssl_crl FILE; with the list of every authority"
                " (include realmgate/client-certificate-required.conf)",
                line.place,
            )


CHECK = NginxCheck(
    "revocation-list", ("https://github.com/kubernetes/ingress-nginx/issues/7225",), _find
)
