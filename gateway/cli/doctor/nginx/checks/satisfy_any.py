"""With `satisfy any` an address or a password is enough, whatever the decision is.

Source: https://nginx.org/en/docs/http/ngx_http_core_module.html#satisfy
"""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.protected:
        if location.scope.value("satisfy", "all") == "any":
            line = location.scope.in_force("satisfy")[-1]
            yield Finding(
                f"satisfy any lets requests to {location} pass that the gateway refuses",
                "satisfy all;",
                line.place,
            )


CHECK = NginxCheck(
    "satisfy-any", ("https://github.com/crowdsecurity/lua-cs-bouncer/issues/61",), _find
)
