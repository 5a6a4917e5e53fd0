"""Mistakes of nginx about request headers that the gateway and services trust."""

from collections.abc import Iterator
from typing import Final

from gateway.doctor.findings import FilePlace, Finding
from gateway.doctor.nginx_scopes import SECRET_HEADER, Location, Proxy, Server, where_lost
from gateway.domain.forward_auth import Site
from gateway.domain.hosts import AmbiguousTarget, proxy_server
from gateway.forward_auth.identity_headers import IDENTITY_HEADERS
from gateway.forward_auth.site_table import SiteTable

_OF_GUARD: Final = "$realmgate_forwarded_authorization"


def find_authorization_header(proxy: Proxy) -> Iterator[Finding]:
    """The caller's token reaches the service although a rule removes it.

    A second line beside guard.conf does it, for nginx sends both; so does a former guard.conf,
    which leaves the header to nginx. attacks: B8
    """
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


_REQUIRED: Final = {
    "x-forwarded-for": ("$remote_addr", "$realip_remote_addr"),
    "x-forwarded-proto": ("$scheme", "https", "http"),
}
"""Headers, and values that come from nginx."""
_ASKED: Final = "x-forwarded-for"
"""Of decision requests; their scheme is of decision-request."""


def find_forwarded_headers(proxy: Proxy) -> Iterator[Finding]:
    """Address and scheme of the caller must come from nginx: lock-outs and `sslRequired` use them.

    attacks: A20, A22
    """
    for location in proxy.to_gateway:
        headers = location.scope.headers()
        names = (_ASKED,) if location in proxy.decisions else tuple(_REQUIRED)
        for name in names:
            header, values = headers.get(name), _REQUIRED[name]
            if header is not None and header.arguments[1] in values:
                continue
            lost = where_lost(location.scope, name)
            sent = "what the caller claims" if header is None else header.arguments[1]
            yield Finding(
                f"{location} sends {sent} in {name}: lock-outs, logs and TLS requirements use it"
                f"{lost}",
                f"proxy_set_header {name} {values[0]}; (include realmgate/proxy-headers.conf)",
                location.place if header is None else header.place,
            )


_SAFE_VALUES: Final = (
    ("underscores_in_headers", "off", "Remote_User"),
    ("ignore_invalid_headers", "on", "Remote.User"),
)
"""Each directive, its safe value, and a name that the other value lets in."""


def find_header_spelling(proxy: Proxy) -> Iterator[Finding]:
    """Header names with underscores and invalid characters: programs read them as the dashed ones.

    The default server of a socket decides for every request whose server is not known yet when
    its headers are read: without TLS, or without a server name in the handshake. attacks: A4,
    B6 Source: https://nginx.org/en/docs/http/ngx_http_core_module.html#underscores_in_headers
    """
    known: set[FilePlace] = set()
    for server in (*proxy.sensitive, *_default_servers(proxy)):
        for directive, safe, name in _SAFE_VALUES:
            if server.scope.value(directive, safe) == safe:
                continue
            line = server.scope.in_force(directive)[-1]
            if line.place in known:
                continue
            known.add(line.place)
            yield Finding(
                f"{directive} {line.arguments[0]} lets a caller send {name}, which many programs"
                f" read as Remote-User{_why(server, proxy)}",
                f"{directive} {safe};",
                line.place,
            )


def _default_servers(proxy: Proxy) -> Iterator[Server]:
    """Yield the default server of each socket of a sensitive server."""
    sockets = {socket for server in proxy.sensitive for socket, _, _ in server.sockets}
    for wanted in sorted(sockets):
        listening = [
            (is_default, server)
            for server in proxy.configuration.servers
            for socket, is_default, _ in server.sockets
            if socket == wanted
        ]
        named = [server for is_default, server in listening if is_default]
        yield named[0] if named else listening[0][1]


def _why(server: Server, proxy: Proxy) -> str:
    if server in proxy.sensitive:
        return ""
    return ": this is the default server of the address, which reads the headers for the others"


_BY_HEADER: Final = {"proxy_pass": "proxy_set_header", "grpc_pass": "grpc_set_header"}
_BY_PARAMETER: Final = {
    "fastcgi_pass": "fastcgi_param",
    "uwsgi_pass": "uwsgi_param",
    "scgi_pass": "scgi_param",
}


def find_identity_headers(proxy: Proxy) -> Iterator[Finding]:
    """Identity headers of the caller's own request must not reach the service. attacks: B6."""
    for location in proxy.protected:
        handler = location.handler
        if handler is None or location in proxy.to_gateway:
            continue
        if handler.name in _BY_HEADER:
            directive, names = _BY_HEADER[handler.name], {name.lower() for name in IDENTITY_HEADERS}
        elif handler.name in _BY_PARAMETER:
            directive, names = _BY_PARAMETER[handler.name], set(map(_parameter, IDENTITY_HEADERS))
        else:
            continue
        yield from _missing(location, directive, names)


def _missing(location: Location, directive: str, names: set[str]) -> Iterator[Finding]:
    lines = location.scope.headers(directive)
    from_caller = sorted(
        name for name in names if name not in lines or "$http_" in lines[name].arguments[1]
    )
    if from_caller:
        lost = where_lost(location.scope, from_caller[0], directive)
        remedy = (
            "include realmgate/guard.conf in the location itself"
            if directive == "proxy_set_header"
            else f"a {directive} for each, with the variables of realmgate/guard.conf"
        )
        yield Finding(
            f"{location} passes a caller's own {', '.join(from_caller)} to the service{lost}",
            remedy,
            location.place,
        )


def _parameter(header: str) -> str:
    return "http_" + header.lower().replace("-", "_")


_PROXY_REMEDY = (
    "run realmgate nginx render with the settings of the gateway (REALMGATE_PROXY_SECRET_FILE),"
    " include realmgate/proxy-headers.conf in the location, and reload nginx"
)


def find_proxy_secret(proxy: Proxy) -> Iterator[Finding]:
    """The proxy must send its secret, and it must be the gateway's. attacks: A1, A2."""
    secret = proxy.gateway.proxy_secret
    if secret is None:
        return
    for location in proxy.to_gateway:
        header = location.scope.headers().get(SECRET_HEADER)
        if header is None or not header.arguments[1]:
            lost = where_lost(location.scope, SECRET_HEADER)
            yield Finding(
                f"{location} does not send the proxy secret, so the gateway ignores certificates"
                f" and https{lost}",
                _PROXY_REMEDY,
                location.place if header is None else header.place,
            )
        elif not secret.matches(header.arguments[1]):
            problem = f"{location} sends another proxy secret than the gateway requires"
            yield Finding(problem, _PROXY_REMEDY, header.place)


def find_real_address(proxy: Proxy) -> Iterator[Finding]:
    """`set_real_ip_from` of every address lets callers choose their own. attacks: A20."""
    lines = {
        line for server in proxy.sensitive for line in server.scope.in_force("set_real_ip_from")
    }
    for line in sorted(lines, key=lambda line: line.place):
        if line.arguments and line.arguments[0].endswith("/0"):
            yield Finding(
                f"set_real_ip_from {line.arguments[0]} lets every caller name another address, and"
                " so avoid lock-outs or lock others out",
                "set_real_ip_from with the addresses of your own load balancers",
                line.place,
            )
