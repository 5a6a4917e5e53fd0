"""The authorities of client certificates must be your own, never those of public web sites."""

import re
from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy

_PUBLIC: Final = re.compile(
    r"/etc/ssl/(certs/ca-certificates\.crt|cert\.pem|ca-bundle\.pem)"
    r"|/etc/pki/(tls/certs|ca-trust/extracted/pem)/.*\.(crt|pem)"
    r"|/usr/local/share/certs/ca-root-nss\.crt"
)


def _find(proxy: Proxy) -> Iterator[Finding]:
    for server in proxy.configuration.servers:
        if not server.asks_for_certificates:
            continue
        for directive in ("ssl_client_certificate", "ssl_trusted_certificate"):
            for line in server.scope.in_force(directive):
                if line.arguments and _PUBLIC.fullmatch(line.arguments[0]):
                    yield Finding(
                        f"{directive} names the authorities of public web sites: everybody can get"
                        " a certificate that passes",
                        f"{directive} FILE; with the authority of your devices and services alone",
                        line.place,
                    )


CHECK = NginxCheck("client-authorities", ("https://github.com/scitran/scitran/issues/10",), _find)
