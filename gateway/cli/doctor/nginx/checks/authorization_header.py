"""The caller's token reaches the service although it is to be removed.

A second line beside guard.conf does it, for nginx sends both; so does a former guard.conf, which
leaves the header to nginx. attacks: B8
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location
from gateway.domain.forward_auth import AmbiguousTarget, Site, proxy_server
from gateway.forward_auth.site_table import SiteTable

_OF_GUARD: Final = "$realmgate_forwarded_authorization"


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.protected:
        lines = [
            line
            for line in location.scope.in_force("proxy_set_header")
            if len(line.arguments) > 1 and line.arguments[0].lower() == "authorization"
        ]
        own = [line for line in lines if line.arguments[1] != _OF_GUARD]
        if own and len(own) < len(lines):
            yield Finding(
                f"{location} sets Authorization beside guard.conf: the service gets the caller's"
                " token as well",
                "forwardAuthorization false for the site: then guard.conf sends none",
                own[-1].place,
            )
        elif not lines and proxy.sites is not None:
            yield from _of_former_files(location, proxy.sites)


def _of_former_files(location: Location, sites: SiteTable) -> Iterator[Finding]:
    removing = sorted(
        {
            site.name
            for name in location.server.listed_names
            for site in _sites_of(name, sites)
            if not site.forward_authorization
        }
    )
    if removing:
        yield Finding(
            f"{location} passes Authorization of the caller, which forwardAuthorization false is to"
            f" remove for {', '.join(removing)}",
            "the guard.conf of this version: realmgate nginx render",
            location.place,
        )


def _sites_of(name: str, sites: SiteTable) -> Iterator[Site]:
    for each in (name.removeprefix("."), f"*{name}") if name.startswith(".") else (name,):
        try:
            yield from sites.sites_of_server(proxy_server(each, "https"))
        except AmbiguousTarget:
            continue  # which another check reports


CHECK = NginxCheck(
    "authorization-header",
    ("https://github.com/jlesage/docker-nginx-proxy-manager/issues/20",),
    _find,
)
