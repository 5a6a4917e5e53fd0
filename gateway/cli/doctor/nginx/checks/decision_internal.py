"""Callers must not reach the decision endpoint: its answers tell what would be allowed."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.decisions:
        if not location.is_internal:
            yield Finding(
                f"callers can request {location} themselves, and read decisions and identities",
                "internal; (include realmgate/guard-server.conf)",
                location.place,
            )


CHECK = NginxCheck(
    "decision-internal", ("https://github.com/suitenumerique/docs/pull/2293",), _find
)
