"""`auth_request off` takes a location out of the rules."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.unprotected:
        lines = location.scope.own("auth_request")
        if lines:
            yield Finding(
                f"auth_request {lines[-1].arguments[0]} opens {location} to everybody",
                "remove the line, and make the path anonymous in the rules: realmgate guard explain"
                " then shows it",
                lines[-1].place,
            )


CHECK = NginxCheck("auth-request-off", ("https://github.com/hjone72/PlexAuth/issues/5",), _find)
