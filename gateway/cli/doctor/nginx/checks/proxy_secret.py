"""The secret that identifies the proxy must be sent, and must be the gateway's. attacks: A1, A2."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.inheritance import where_lost
from gateway.cli.doctor.nginx.proxy import SECRET_HEADER, NginxCheck, Proxy

_REMEDY = (
    "run realmgate nginx render with the settings of the gateway (REALMGATE_PROXY_SECRET_FILE),"
    " include realmgate/proxy-headers.conf in the location, and reload nginx"
)


def _find(proxy: Proxy) -> Iterator[Finding]:
    secret = proxy.gateway.proxy_secret
    if secret is None:
        return
    for location in proxy.to_gateway:
        header = location.scope.headers().get(SECRET_HEADER)
        if header is None or not header.arguments[1]:
            lost = where_lost(location.scope, SECRET_HEADER)
            yield Finding(
                f"{location} does not send the proxy secret, so the gateway ignores certificates"
                f" and https{lost}",
                _REMEDY,
                location.place if header is None else header.place,
            )
        elif not secret.matches(header.arguments[1]):
            problem = f"{location} sends another proxy secret than the gateway requires"
            yield Finding(problem, _REMEDY, header.place)


CHECK = NginxCheck("proxy-secret", ("https://github.com/keycloak/keycloak/issues/35861",), _find)
