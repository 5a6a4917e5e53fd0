"""A decision request has no body: with the caller's Content-Length the gateway waits for one."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.decisions:
        if location.handler is None:
            continue
        length = location.scope.headers().get("content-length")
        passes = location.scope.value("proxy_pass_request_body", "on") == "on"
        if passes or length is None or length.arguments[1]:
            yield Finding(
                f"{location} announces a body that nginx does not send: every POST waits for its"
                " time-out",
                'proxy_pass_request_body off; proxy_set_header Content-Length "";'
                " (include realmgate/guard-server.conf)",
                location.place,
            )


CHECK = NginxCheck("decision-body", ("https://github.com/bitly/oauth2_proxy/issues/442",), _find)
