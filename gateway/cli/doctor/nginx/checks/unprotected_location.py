"""A location without a decision in a server that asks for decisions: a way around all rules."""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location

_PUBLIC: Final = ("/.well-known/", "/favicon.ico", "/robots.txt")
"""Files that every site shows everybody."""
_REMEDY: Final = (
    "include realmgate/guard.conf in the location; paths without sign-in belong into the rules, as"
    " anonymous paths"
)


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.unprotected:
        if location.is_pattern or location.scope.own("auth_request"):
            continue  # of regular-expression and auth-request-off
        if proxy.same_service(location):
            problem = f"{location} leads to a protected service without a decision"
            yield Finding(problem, _REMEDY, location.place)
        elif not location.path.startswith(_PUBLIC) and (around := _around(proxy, location)):
            problem = f"{location} is not protected, {around} around it on {around.place} is"
            yield Finding(problem, _REMEDY, location.place)
    for location in proxy.unused_decisions:
        if not location.path.startswith(_PUBLIC):
            problem = f"{location} needs no decision, and no other location of its server does"
            yield Finding(problem, _REMEDY, location.place)


def _around(proxy: Proxy, location: Location) -> Location | None:
    """Return a protected location whose path contains this one's."""
    return next(
        (
            other
            for other in proxy.protected
            if other.server is location.server
            and other.modifier in {"", "^~"}
            and location.path.startswith(other.path)
        ),
        None,
    )


CHECK = NginxCheck(
    "unprotected-location",
    ("https://github.com/IMGIITRoorkee/omniport-docker/pull/57",),
    _find,
)
