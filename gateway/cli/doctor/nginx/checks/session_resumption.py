"""A resumed TLS session keeps the verdict of its first handshake, and so outlives a revocation.

attacks: A9
"""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy

_OFF = {"off", "none"}


def _find(proxy: Proxy) -> Iterator[Finding]:
    for server in proxy.configuration.servers:
        if not server.asks_for_certificates:
            continue
        for directive, default in (("ssl_session_cache", "none"), ("ssl_session_tickets", "on")):
            if server.scope.value(directive, default) in _OFF:
                continue
            found = server.scope.in_force(directive)
            yield Finding(
                f"{directive} is {server.scope.value(directive, default)}"
                f"{'' if found else ' by default'}: a revoked certificate works as long as its"
                " TLS session",
                f"{directive} off; (include realmgate/tls.conf)",
                found[-1].place if found else server.place,
            )


CHECK = NginxCheck(
    "session-resumption",
    (
        "https://github.com/envoyproxy/envoy/pull/28758",
        "https://github.com/mozilla/server-side-tls/issues/282",
    ),
    _find,
)
