"""The certificate header: nginx must set it wherever it passes requests to the gateway.

A header that nginx does not set is passed on as the caller sent it. attacks: A2
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.inheritance import where_lost
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Scope
from gateway.http.edge.certificate_lookup import NginxLookup

_REMEDY: Final = (
    "include realmgate/proxy-headers.conf in the location, as its only proxy_set_header lines"
)


def _find(proxy: Proxy) -> Iterator[Finding]:
    name = proxy.gateway.certificate_header
    lookup = proxy.gateway.certificate_lookup
    for location in proxy.to_gateway:
        header = location.scope.headers().get(name)
        if lookup != NginxLookup.name:
            problem = (
                f"{location} leads to a gateway that reads certificates as {lookup} sends them"
            )
            yield Finding(problem, "set REALMGATE_CERTIFICATE_LOOKUP=nginx", location.place)
            continue
        other = _other_header(location.scope)
        if other is not None and (header is None or not header.arguments[1]):
            problem = (
                f"{location} sends the certificate in {other}, the gateway reads it from {name}"
            )
            remedy = f"send {NginxLookup.variable} in {name}, or set REALMGATE_CERTIFICATE_HEADER"
            yield Finding(problem, remedy, location.place)
        elif header is None:
            lost = where_lost(location.scope, name)
            problem = f"{location} passes a caller's own {name} to the gateway{lost}"
            yield Finding(problem, _REMEDY, location.place)
        elif "$http_" in header.arguments[1]:
            problem = f"{location} takes {name} from the caller's request: {header.arguments[1]}"
            yield Finding(problem, _REMEDY, header.place)


def _other_header(scope: Scope) -> str | None:
    names = (
        name for name, line in scope.headers().items() if line.arguments[1] == NginxLookup.variable
    )
    return next(names, None)


CHECK = NginxCheck(
    "certificate-header",
    (
        "https://github.com/keycloak/keycloak/issues/17059",
        "https://github.com/LemmyNet/lemmy-ansible/issues/155",
        "https://github.com/kubernetes/ingress-nginx/issues/954",
    ),
    _find,
)
