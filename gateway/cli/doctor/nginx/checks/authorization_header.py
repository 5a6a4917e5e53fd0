"""A second line for `Authorization` beside guard.conf: nginx sends both, and removes neither.

attacks: B8
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy

_OF_GUARD: Final = "$realmgate_forwarded_authorization"


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.protected:
        lines = [
            line
            for line in location.scope.in_force("proxy_set_header")
            if len(line.arguments) > 1 and line.arguments[0].lower() == "authorization"
        ]
        own = [line for line in lines if line.arguments[1] != _OF_GUARD]
        if own and len(own) < len(lines):
            yield Finding(
                f"{location} sets Authorization beside guard.conf: the service gets the caller's"
                " token as well",
                "forwardAuthorization false for the site: then guard.conf sends none",
                own[-1].place,
            )


CHECK = NginxCheck(
    "authorization-header",
    ("https://github.com/jlesage/docker-nginx-proxy-manager/issues/20",),
    _find,
)
