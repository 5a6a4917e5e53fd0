"""Only the gateway may say yes: nginx takes every answer from 200 to 299 as that. attacks: B1."""

import re
from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import DECISIONS, NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location

_ALLOWS: Final = re.compile(r"=(2\d\d)?\Z")
_REMEDY: Final = (
    "proxy_pass http://realmgate/.realmgate/guard/nginx; (include realmgate/guard-server.conf)"
)


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.decisions:
        address = proxy.configuration.address(location)
        if location not in proxy.to_gateway or location.answers_itself:
            problem = f"{location} decides without the gateway"
            yield Finding(problem, _REMEDY, location.place)
        elif address is not None and address.path != f"{DECISIONS}nginx":
            problem = f"{location} asks {address.path or 'the path itself'}, which decides nothing"
            yield Finding(problem, _REMEDY, location.place)
        yield from _of_errors(location)


def _of_errors(location: Location) -> Iterator[Finding]:
    if location.scope.value("proxy_intercept_errors", "off") == "off":
        return
    for line in location.scope.in_force("error_page"):
        if any(map(_ALLOWS.fullmatch, line.arguments)):
            yield Finding(
                f"error_page {' '.join(line.arguments)} makes an error of the gateway a permission",
                "proxy_intercept_errors off;",
                line.place,
            )


CHECK = NginxCheck(
    "decision-answer",
    (
        "https://github.com/perusio/nginx-auth-request-module/issues/8",
        "https://github.com/tarampampam/error-pages/issues/315",
    ),
    _find,
)
