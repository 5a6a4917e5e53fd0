"""Identity headers of the caller's own request must not reach the service. attacks: B6."""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.inheritance import where_lost
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location
from gateway.forward_auth.identity_headers import IDENTITY_HEADERS

_BY_HEADER: Final = {"proxy_pass": "proxy_set_header", "grpc_pass": "grpc_set_header"}
_BY_PARAMETER: Final = {
    "fastcgi_pass": "fastcgi_param",
    "uwsgi_pass": "uwsgi_param",
    "scgi_pass": "scgi_param",
}


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.protected:
        handler = location.handler
        if handler is None or location in proxy.to_gateway:
            continue
        if handler.name in _BY_HEADER:
            directive, names = _BY_HEADER[handler.name], {name.lower() for name in IDENTITY_HEADERS}
        elif handler.name in _BY_PARAMETER:
            directive, names = _BY_PARAMETER[handler.name], set(map(_parameter, IDENTITY_HEADERS))
        else:
            continue
        yield from _missing(location, directive, names)


def _missing(location: Location, directive: str, names: set[str]) -> Iterator[Finding]:
    lines = location.scope.headers(directive)
    from_caller = sorted(
        name for name in names if name not in lines or "$http_" in lines[name].arguments[1]
    )
    if from_caller:
        lost = where_lost(location.scope, from_caller[0], directive)
        remedy = (
            "include realmgate/guard.conf in the location itself"
            if directive == "proxy_set_header"
            else f"a {directive} for each, with the variables of realmgate/guard.conf"
        )
        yield Finding(
            f"{location} passes a caller's own {', '.join(from_caller)} to the service{lost}",
            remedy,
            location.place,
        )


def _parameter(header: str) -> str:
    return "http_" + header.lower().replace("-", "_")


CHECK = NginxCheck(
    "identity-headers",
    (
        "https://github.com/auth0/nginx-jwt/issues/42",
        "https://github.com/svsticky/sadserver/issues/213",
    ),
    _find,
)
