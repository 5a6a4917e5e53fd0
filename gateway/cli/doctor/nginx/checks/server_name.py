"""The gateway chooses the site by the name of nginx's server, which has to be one of a site.

nginx chooses the server by the name that the caller sends, without its port, and its default server
gets every name that no server has. `$server_name` is the first name of the server, whatever name
was sent. Source: https://nginx.org/en/docs/http/request_processing.html
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding, Place
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location, Server
from gateway.domain.forward_auth import AmbiguousTarget, proxy_server, without_port
from gateway.forward_auth.site_table import SiteTable

_HEADER: Final = "x-realmgate-server"
_NAME: Final = "$server_name"
_VALUE: Final = "$server_name:$server_port"
_INCLUDE: Final = "include realmgate/guard-server.conf"
_SET_BY_NGINX: Final = "$hostname"


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.decisions:
        header = location.scope.headers().get(_HEADER)
        value = "" if header is None else re.sub(r"\$\{(\w+)\}", r"$\1", header.arguments[1])
        if location not in proxy.to_gateway:
            continue  # of decision-answer
        place = header.place if header is not None and value else location.place
        if "$" in value or not value:
            yield from _of_value(location, value, place)
        if value in {_NAME, _VALUE}:
            yield from _of_server(location.server, proxy.sites)
        elif value and "$" not in value and proxy.sites is not None:
            yield from _of_name(value, place, proxy.sites)
    if proxy.sites is not None:
        yield from _of_ports(proxy, proxy.sites)


def _of_value(location: Location, value: str, place: Place) -> Iterator[Finding]:
    remedy = f'proxy_set_header X-Realmgate-Server "{_VALUE}"; ({_INCLUDE})'
    if value == _NAME:
        problem = (
            f"{location} does not report the port of its server: requests are refused where sites"
            " of one name have different ports"
        )
        yield Finding(problem, remedy, place)
    elif value != _VALUE:
        problem = (
            f"{location} does not report which server asks: requests are refused, or decided by the"
            " rules of the name that the caller sends"
        )
        yield Finding(problem, remedy, place)


def _of_server(server: Server, sites: SiteTable | None) -> Iterator[Finding]:
    """Yield what is wrong with the names of a server that protects a site."""
    first, *others = server.listed_names or ("",)
    if first in {"", "_"} or first.startswith("~") or first.endswith(".*"):
        kind = "no name" if first in {"", "_"} else f"the first name {first}"
        yield Finding(
            f"the server has protected locations and {kind}, which no site can have: every request"
            " is refused",
            "a host of the site as the first server_name, and a server for each site",
            server.place,
        )
        return
    name = first.removeprefix(".")
    if sites is None or first == _SET_BY_NGINX:
        return
    found = tuple(_of_name(name, server.place, sites))
    yield from found
    if found:
        return
    further = [f"*{first}"] if first.startswith(".") else []
    for other in (*further, *others):
        yield from _of_further_name(name, other, server.place, sites)


def _of_name(name: str, place: Place, sites: SiteTable) -> Iterator[Finding]:
    try:
        found = sites.sites_of_server(proxy_server(name, "https"))
    except AmbiguousTarget as refusal:
        yield Finding(f"{name}: {refusal}", "a host of the site", place)
        return
    if not found:
        yield Finding(
            f"the server has protected locations, and no site has its host {name}: every request is"
            " refused, until some realm takes the host",
            f"a site with the host {name}, in the realm or in the rules file",
            place,
        )


def _of_further_name(first: str, name: str, place: Place, sites: SiteTable) -> Iterator[Finding]:
    """Yield a finding for a name whose requests are refused, as it is not of the same site."""
    for each in (name.removeprefix("."), f"*{name}") if name.startswith(".") else (name,):
        try:
            reported = proxy_server(first, "https"), proxy_server(each, "https")
        except AmbiguousTarget:
            continue  # a regular expression, or a name that no caller sends
        own, other = map(sites.sites_of_server, reported)
        if not set(own) & set(other):
            of_site = f"of the site {other[0].name}" if other else "of no site"
            yield Finding(
                f"the server is that of {first}, and its name {each} is {of_site}: requests for"
                " that name are refused",
                f"a server of its own for {each}, or {each} among the hosts of the same site",
                place,
            )


def _of_ports(proxy: Proxy, sites: SiteTable) -> Iterator[Finding]:
    """Yield servers of one name whose services differ, where one site without their ports decides.

    The ports of listeners may be mapped to others, so they are counted and not compared.
    """
    by_name: defaultdict[str, list[Server]] = defaultdict(list)
    for server in proxy.protecting:
        for name in server.listed_names[:1]:
            by_name[name].append(server)
    for name, servers in by_name.items():
        try:
            found = sites.sites_of_server(proxy_server(name, "https"))
        except AmbiguousTarget:
            continue  # see above
        services = {proxy.services_of(server) for server in servers}
        hosts = [host for site in found for host in site.hosts if without_port(host) == name]
        if len(found) == 1 and len(services) > max(1, len(hosts)):
            yield Finding(
                f"{len(services)} servers have the name {name} and different services, and the site"
                f" {found[0].name} names {len(hosts)} of their ports: its rules decide about all",
                f"sites of {name} with the port of each server, or another name for each service",
                servers[-1].place,
            )


CHECK = NginxCheck("server-name", ("https://github.com/NixOS/nixpkgs/issues/392886",), _find)
