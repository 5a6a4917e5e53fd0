"""The certificate must be sent as `$ssl_client_escaped_cert`.

`$ssl_client_cert` and `$ssl_client_raw_cert` have line ends, which the gateway refuses or which end
the header early; names such as `$ssl_client_s_dn` are no certificate.
"""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.http.edge.certificate_lookup import NginxLookup


def _find(proxy: Proxy) -> Iterator[Finding]:
    name = proxy.gateway.certificate_header
    for location in proxy.to_gateway:
        header = location.scope.headers().get(name)
        if header is None or "$http_" in header.arguments[1]:
            continue
        value = header.arguments[1]
        if value not in {NginxLookup.variable, ""}:
            problem = f"{location} sends {value} as the certificate, which the gateway cannot read"
            remedy = f"proxy_set_header {name} {NginxLookup.variable};"
            yield Finding(problem, remedy, header.place)


CHECK = NginxCheck("certificate-variable", ("https://github.com/18F/identity-pki/pull/11",), _find)
