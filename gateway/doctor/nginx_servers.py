"""Mistakes of nginx about addresses, names, paths and logs."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509

from gateway.crypto.x509.parse import load_any_certificate
from gateway.doctor.findings import FilePlace, Finding
from gateway.doctor.nginx_scopes import Location, Proxy, Server, where_lost
from gateway.doctor.nginx_syntax import Directive
from gateway.domain.forward_auth import Site
from gateway.domain.hosts import AmbiguousTarget, proxy_server, without_port
from gateway.forward_auth.site_table import SiteTable

_SAFE_DIRECTIVES: Final = {"return", "rewrite", "set", "break"}
"""Directives that work in an `if` as they read."""


def find_condition(proxy: Proxy) -> Iterator[Finding]:
    """An `if` in a location is a location of its own: it loses headers and decisions.

    Source:
    https://github.com/nginxinc/nginx-wiki/blob/master/source/start/topics/depth/ifisevil.rst
    """
    examined = {*proxy.to_gateway, *proxy.protected, *proxy.decisions}
    for location in proxy.configuration.locations:
        if location not in examined or location.is_condition:
            continue
        for scope in location.scope.scopes:
            unsafe = [
                line for line in scope.directive.block or () if line.name not in _SAFE_DIRECTIVES
            ]
            if scope.directive.name == "if" and unsafe:
                yield Finding(
                    f"{unsafe[0].name} in an if of {location} does not add to the location, it"
                    " replaces it",
                    "a map of the condition to a variable, or a location of its own",
                    unsafe[0].place,
                )


def find_alias_traversal(proxy: Proxy) -> Iterator[Finding]:
    """A location without a slash at its end and an alias with one: `/files../` leaves the folder.

    Source: https://nginx.org/en/docs/http/ngx_http_core_module.html#alias
    """
    for server in proxy.configuration.servers:
        for location in server.locations:
            for line in location.scope.own("alias"):
                prefix = location.modifier in {"", "^~"} and not location.path.endswith("/")
                if prefix and line.arguments and line.arguments[0].endswith("/"):
                    yield Finding(
                        f"{location.path}../ reads files next to {line.arguments[0]}, keys and"
                        " configurations among them",
                        f"location {location.path}/",
                        line.place,
                    )


def find_gateway_address(proxy: Proxy) -> Iterator[Finding]:
    """Only the proxy may reach the gateway or read their traffic. attacks: A1."""
    if not proxy.gateway.is_local and proxy.gateway.proxy_secret is None:
        yield Finding(
            f"other machines can reach the gateway on {proxy.gateway.listen} without the proxy",
            "REALMGATE_LISTEN=unix:PATH or 127.0.0.1:PORT; or REALMGATE_TRUSTED_PROXIES and"
            " REALMGATE_PROXY_SECRET_FILE, and a firewall",
        )
    for location in proxy.to_gateway:
        address = proxy.configuration.address(location)
        if address is None or address.scheme != "http" or address.unix:
            continue
        remote = sorted(filter(_is_remote, address.hosts))
        if remote and location.handler is not None:
            yield Finding(
                f"{location} sends passwords and the proxy secret to {remote[0]} without TLS",
                "proxy_pass https://… with proxy_ssl_verify on;, or a private network between both",
                location.handler.place,
            )


def _is_remote(host: str) -> bool:
    """Tell whether the address is neither of this machine nor of a private network."""
    try:
        address = ip_address(host.rpartition(":")[0].strip("[]"))
    except ValueError:
        return False
    return address.is_global


_CREDENTIALS: Final = re.compile(
    r"\$\{?(http_authorization|http_cookie|cookie_\w+|request_body|ssl_client_escaped_cert)\b"
)
_QUERIES: Final = re.compile(r"\$\{?(request|request_uri|args|query_string|http_referer)\b")
_BUILT_IN: Final = {"combined"}
"""Formats with $request and $http_referer that need no log_format."""


def find_logged_secrets(proxy: Proxy) -> Iterator[Finding]:
    """Access logs must not contain credentials, or queries with codes and tokens.

    attacks: E5
    """
    formats = {
        line.arguments[0]: line
        for http in proxy.configuration.http
        for line in http.own("log_format")
        if line.arguments
    }
    reported: set[Directive] = set()
    for server in proxy.sensitive:
        to_gateway = any(location.server is server for location in proxy.to_gateway)
        for line in _logs(server):
            name = line.arguments[1] if len(line.arguments) > 1 else "combined"
            described = formats.get(name)
            text = "" if described is None else " ".join(described.arguments[1:])
            secret = _CREDENTIALS.search(text)
            if to_gateway and secret is None:
                secret = _QUERIES.search("$request" if name in _BUILT_IN else text)
            if secret is not None and line not in reported:
                reported.add(line)
                log = f"access_log {line.arguments[0]}"
                if line.place == server.place:
                    log = (
                        f"the server names no access_log, and nginx's default, {line.arguments[0]},"
                    )
                yield Finding(
                    f"{log} has {secret.group()}, and so credentials, codes or tokens",
                    f"access_log {line.arguments[0]} realmgate; (include realmgate/http.conf)",
                    line.place,
                )


def _logs(server: Server) -> Iterator[Directive]:
    """Yield the lines in force that write a log, and nginx's default where there is none."""
    for scope in (server.scope, *(location.scope for location in server.locations)):
        for line in scope.in_force("access_log"):
            if line.arguments and line.arguments[0] != "off":
                yield line
    if not server.scope.in_force("access_log"):
        yield Directive("access_log", ("logs/access.log", "combined"), server.place)


def find_merge_slashes(proxy: Proxy) -> Iterator[Finding]:
    """With `merge_slashes off`, `//admin` is in no location of `/admin`. attacks: B3."""
    for server in proxy.sensitive:
        if server.scope.value("merge_slashes", "on") == "off":
            line = server.scope.in_force("merge_slashes")[-1]
            yield Finding(
                "merge_slashes off: a path with // goes around the locations it belongs to",
                "merge_slashes on;",
                line.place,
            )


def find_regular_expression(proxy: Proxy) -> Iterator[Finding]:
    """Regular expressions go before prefixes: `~ [.]css$` takes `/admin/x.css` from `/admin/`.

    Source: https://nginx.org/en/docs/http/ngx_http_core_module.html#location
    """
    for location in proxy.unprotected:
        if location.is_pattern and not location.scope.own("auth_request"):
            yield Finding(
                f"{location} takes every path that matches from the protected locations",
                "include realmgate/guard.conf in the location, or write ^~ before the protected"
                " prefixes",
                location.place,
            )


_SECURITY: Final = (
    *("strict-transport-security", "content-security-policy", "x-content-type-options"),
    *("x-frame-options", "referrer-policy"),
)


def find_security_headers(proxy: Proxy) -> Iterator[Finding]:
    """One `add_header` in a location drops the security headers of its server.

    Source: https://nginx.org/en/docs/http/ngx_http_headers_module.html#add_header
    """
    for server in proxy.sensitive:
        for location in server.locations:
            yield from _lost(location)


def _lost(location: Location) -> Iterator[Finding]:
    own = location.scope.own("add_header")
    if not own or location.explains_refusals:
        return  # the gateway writes the headers of that page
    kept = location.scope.headers("add_header")
    for name in _SECURITY:
        lost = where_lost(location.scope, name, "add_header")
        if name not in kept and lost:
            yield Finding(
                f"answers of {location} lack {name}{lost}",
                "include realmgate/security-headers.conf where the add_header lines are",
                own[0].place,
            )
            return


_HEADER: Final = "x-realmgate-server"
_NAME: Final = "$server_name"
_VALUE: Final = "$server_name:$server_port"
_INCLUDE: Final = "include realmgate/guard-server.conf"
_SET_BY_NGINX: Final = "$hostname"


def find_server_name(proxy: Proxy) -> Iterator[Finding]:
    """The gateway chooses the site by the name of nginx's server, which must be a host of a site.

    nginx chooses the server by the name that the caller sends, without its port, and its
    default server gets every name that no server has. `$server_name` is the first name of the
    server, whatever name was sent. Source:
    https://nginx.org/en/docs/http/request_processing.html
    """
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
    yield from _outside_of_certificates(proxy)


def _outside_of_certificates(proxy: Proxy) -> Iterator[Finding]:
    """Yield the names of servers that their certificate does not have: clients refuse those.

    A server with several certificates (RSA and ECDSA) is covered if one of them has the name.
    Source: RFC 6125 §6.4
    """
    if proxy.main_file is None:
        return
    folder = proxy.main_file.parent
    for server in proxy.sensitive:
        if not any("ssl" in line.arguments for line in server.scope.own("listen")):
            continue
        lines = server.scope.in_force("ssl_certificate")
        try:
            certificates = [
                load_any_certificate((folder / line.arguments[0]).read_bytes()) for line in lines
            ]
        except (OSError, ValueError, IndexError):
            continue  # nginx itself refuses such files, and a variable is no file
        for name in _certifiable(server) if certificates else ():
            if not any(_certifies(certificate, name) for certificate in certificates):
                file = lines[-1].arguments[0]
                yield Finding(
                    f"the certificate {file} has no name for server_name {name}: its clients"
                    " refuse the connection",
                    f"ssl_certificate and ssl_certificate_key with a certificate for {name}",
                    lines[-1].place if lines[-1].place.file == server.place.file else server.place,
                )


def _certifiable(server: Server) -> Iterator[str]:
    """Yield the names of a server that a certificate can have."""
    for name in server.listed_names:
        plain = name.removeprefix("." if name.startswith(".") else "*.")
        if "." in plain and re.fullmatch(r"[a-z0-9.-]*[a-z][a-z0-9-]*", plain):
            yield name.removeprefix(".")


def _certifies(certificate: x509.Certificate, name: str) -> bool:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return False
    known = {each.lower() for each in extension.value.get_values_for_type(x509.DNSName)}
    return name in known or f"*.{name.partition('.')[2]}" in known


def _of_value(location: Location, value: str, place: FilePlace) -> Iterator[Finding]:
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
    """Yield the findings about the names of a server that protects a site."""
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


def _of_name(name: str, place: FilePlace, sites: SiteTable) -> Iterator[Finding]:
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


def _of_further_name(
    first: str, name: str, place: FilePlace, sites: SiteTable
) -> Iterator[Finding]:
    """Yield a finding for a name outside the site: its requests are refused."""
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
    """Yield servers of one name with different services, if one site without ports decides.

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
        yield from _of_missing_port(proxy, found, name, servers)
        services = {proxy.services_of(server) for server in servers}
        hosts = [host for site in found for host in site.hosts if without_port(host) == name]
        if len(found) == 1 and len(services) > max(1, len(hosts)):
            yield Finding(
                f"{len(services)} servers have the name {name} and different services, and the site"
                f" {found[0].name} names {len(hosts)} of their ports: its rules decide about all",
                f"sites of {name} with the port of each server, or another name for each service",
                servers[-1].place,
            )


def _of_missing_port(
    proxy: Proxy, sites: Sequence[Site], name: str, servers: Sequence[Server]
) -> Iterator[Finding]:
    """Yield servers on the port of the gateway's own URL, if no site has the name with that port.

    nginx listens on that port itself, so nothing in front of it maps another one to it.
    """
    ports = {str(urlsplit(url).port) for url in proxy.gateway.public_urls}
    hosts = {host for site in sites for host in site.hosts if without_port(host) == name}
    for server in servers:
        for socket, _, place in server.sockets:
            port = socket.rpartition(":")[2]
            if hosts and port in ports and f"{name}:{port}" not in hosts:
                yield Finding(
                    f"the server listens on {port}, and the site {sites[0].name} has"
                    f" {', '.join(sorted(hosts))}: requests for {name}:{port} are refused",
                    f"{name}:{port} in the hosts of the site, and in the redirect URIs of its"
                    " client",
                    place,
                )


_DIRECTIVES = ("ssl_verify_client", "ssl_client_certificate", "ssl_trusted_certificate", "ssl_crl")


def find_shared_socket(proxy: Proxy) -> Iterator[Finding]:
    """Servers of one address and port must agree on client certificates.

    A TLS session of one server could be resumed at another that would not have begun it.
    attacks: A13
    """
    first: dict[str, Server] = {}
    for server in proxy.configuration.servers:
        for socket, _, place in server.sockets:
            other = first.setdefault(socket, server)
            if _verification(server) != _verification(other):
                yield Finding(
                    f"the servers on {other.place} and {server.place} listen on {socket} with"
                    " different client certificates: nginx before 1.27.4 lets a TLS session of one"
                    " be resumed at the other",
                    "give servers with other client certificates a port of their own",
                    place,
                )


def _verification(server: Server) -> tuple[str, ...]:
    if not server.asks_for_certificates:
        return ()
    return tuple(server.scope.value(directive, "") for directive in _DIRECTIVES)
