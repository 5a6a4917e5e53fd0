"""Programs need the gateway's own errors: WWW-Authenticate, and the JSON of RFC 6749 §5.2."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.to_gateway:
        if location.explains_refusals:
            continue  # the static page follows where the gateway has none
        if location.scope.value("proxy_intercept_errors", "off") == "on":
            line = location.scope.in_force("proxy_intercept_errors")[-1]
            yield Finding(
                f"proxy_intercept_errors on replaces the errors of the gateway in {location}",
                "proxy_intercept_errors off; (include realmgate/gateway.conf)",
                line.place,
            )


CHECK = NginxCheck(
    "intercepted-errors", ("https://github.com/vouch/vouch-proxy/issues/300",), _find
)
