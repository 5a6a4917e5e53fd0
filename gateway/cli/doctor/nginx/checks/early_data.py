"""A request in TLS early data can be sent again by whoever recorded it. Source: RFC 8470 §3."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for server in proxy.sensitive:
        if server.scope.value("ssl_early_data", "off") == "on":
            line = server.scope.in_force("ssl_early_data")[-1]
            yield Finding(
                "requests in TLS early data can be replayed, also those that change something",
                "ssl_early_data off; (include realmgate/tls.conf)",
                line.place,
            )


CHECK = NginxCheck(
    "early-data",
    ("https://github.com/reef-technologies/cookiecutter-rt-django/pull/106",),
    _find,
)
