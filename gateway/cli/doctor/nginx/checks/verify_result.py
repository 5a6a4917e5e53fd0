"""The proxy's verdict about the certificate must be the proxy's own. attacks: A4, A6."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.inheritance import where_lost
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy

_HEADER = "ssl-client-verify"
_VARIABLE = "$ssl_client_verify"


def _find(proxy: Proxy) -> Iterator[Finding]:
    certificate = proxy.gateway.certificate_header
    for location in proxy.to_gateway:
        headers = location.scope.headers()
        if certificate not in headers:
            continue  # reported by certificate-header, with the same remedy
        header = headers.get(_HEADER)
        if header is None or header.arguments[1] != _VARIABLE:
            lost = where_lost(location.scope, _HEADER)
            yield Finding(
                f"{location} does not send {_VARIABLE} in {_HEADER}: a caller can claim SUCCESS for"
                f" any certificate{lost}",
                f"proxy_set_header {_HEADER} {_VARIABLE};",
                header.place if header is not None else location.place,
            )


CHECK = NginxCheck("verify-result", ("https://github.com/puppetlabs/puppetserver/pull/349",), _find)
