"""What nginx reports of the request must be its own, never the caller's. attacks: B4."""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.inheritance import where_lost
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy

_REQUIRED: Final = {
    "x-original-request": ("$request",),
    "x-forwarded-host": ("$http_host", "$host", "$realmgate_asked_host"),
    "x-forwarded-proto": ("$scheme", "https", "http"),
}
"""Headers of the decision request, and values that come from nginx."""


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.decisions:
        if location not in proxy.to_gateway:
            continue  # of decision-answer
        headers = location.scope.headers()
        for name, values in _REQUIRED.items():
            header = headers.get(name)
            if header is not None and header.arguments[1] in values:
                continue
            lost = where_lost(location.scope, name)
            other = header is not None and header.arguments[1]
            sent = f" but {other}" if other else ""
            yield Finding(
                f"{location} does not send {values[0]} in {name}{sent}: the rules are evaluated on"
                f" what the caller claims{lost}",
                f"proxy_set_header {name} {values[0]}; (include realmgate/guard-server.conf)",
                header.place if header is not None and other else location.place,
            )


CHECK = NginxCheck(
    "decision-request",
    (
        "https://github.com/oauth2-proxy/oauth2-proxy/issues/2277",
        "https://github.com/goauthentik/authentik/issues/9858",
    ),
    _find,
)
