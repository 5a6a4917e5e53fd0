"""Requests for other names must not reach a protected service under the rules of another site.

nginx's default server gets every request whose name no server has, so the gateway must learn which
server asks. Source: https://nginx.org/en/docs/http/request_processing.html
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy

_HEADER: Final = "x-realmgate-server"
_VARIABLE: Final = "$server_name"


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.decisions:
        header = location.scope.headers().get(_HEADER)
        value = "" if header is None else header.arguments[1]
        if location not in proxy.to_gateway or (value and "$" not in value):
            continue  # of decision-answer; or a name that is written there
        if value != _VARIABLE:
            yield Finding(
                f"{location} does not say which server asks: requests for other names are decided"
                " by the rules of the name that the caller sends",
                f"proxy_set_header X-Realmgate-Server {_VARIABLE};"
                " (include realmgate/guard-server.conf)",
                header.place if header is not None and value else location.place,
            )
        elif not location.server.names - {"", "_"}:
            yield Finding(
                "the server has protected locations and no name: the gateway cannot tell which site"
                " it protects",
                "server_name with a host of the site",
                location.server.place,
            )


CHECK = NginxCheck("server-name", ("https://github.com/NixOS/nixpkgs/issues/392886",), _find)
