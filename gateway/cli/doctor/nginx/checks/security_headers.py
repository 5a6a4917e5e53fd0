"""One `add_header` in a location drops the security headers of its server.

Source: https://nginx.org/en/docs/http/ngx_http_headers_module.html#add_header
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.inheritance import where_lost
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location

_SECURITY: Final = (
    *("strict-transport-security", "content-security-policy", "x-content-type-options"),
    *("x-frame-options", "referrer-policy"),
)


def _find(proxy: Proxy) -> Iterator[Finding]:
    for server in proxy.sensitive:
        for location in server.locations:
            yield from _lost(location)


def _lost(location: Location) -> Iterator[Finding]:
    own = location.scope.own("add_header")
    if not own or location.explains_refusals:
        return  # the gateway writes the headers of that page
    kept = location.scope.headers("add_header")
    for name in _SECURITY:
        lost = where_lost(location.scope, name, "add_header")
        if name not in kept and lost:
            yield Finding(
                f"answers of {location} lack {name}{lost}",
                "include realmgate/security-headers.conf where the add_header lines are",
                own[0].place,
            )
            return


CHECK = NginxCheck(
    "security-headers",
    (
        "https://github.com/ICTU/quality-time/issues/8929",
        "https://github.com/h5bp/server-configs-nginx/issues/193",
    ),
    _find,
)
