"""An `if` in a location is a location of its own: it loses headers and decisions, or swaps them.

Source: https://github.com/nginxinc/nginx-wiki/blob/master/source/start/topics/depth/ifisevil.rst
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy

_SAFE: Final = {"return", "rewrite", "set", "break"}
"""Directives that work in an `if` as they read."""


def _find(proxy: Proxy) -> Iterator[Finding]:
    examined = {*proxy.to_gateway, *proxy.protected, *proxy.decisions}
    for location in proxy.configuration.locations:
        if location not in examined or location.is_condition:
            continue
        for scope in location.scope.scopes:
            unsafe = [line for line in scope.directive.block or () if line.name not in _SAFE]
            if scope.directive.name == "if" and unsafe:
                yield Finding(
                    f"{unsafe[0].name} in an if of {location} does not add to the location, it"
                    " replaces it",
                    "a map of the condition to a variable, or a location of its own",
                    unsafe[0].place,
                )


CHECK = NginxCheck(
    "condition",
    (
        "https://github.com/DataDog/nginx-datadog/issues/43",
        "https://github.com/oauth2-proxy/oauth2-proxy/issues/2958",
    ),
    _find,
)
