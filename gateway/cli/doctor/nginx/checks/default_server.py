"""Requests for other names must not reach a protected service under the rules of another site.

The server that nginx takes for unknown names serves them all; the rules are those of the name.
Source: https://nginx.org/en/docs/http/request_processing.html
"""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location, Scope, Server


def _find(proxy: Proxy) -> Iterator[Finding]:
    for socket, server in _defaults(proxy).items():
        protected = [each for each in proxy.protected if each.server is server]
        open_to_names = [each for each in protected if not _refuses_names(each)]
        if open_to_names and not _refuses_all(server):
            yield Finding(
                f"the server is the one for unknown names on {socket}: {open_to_names[0]} is served"
                " under the rules of every name that a caller sends",
                "a server {} before it on the same port with default_server and return 421; and"
                " ssl_reject_handshake on; where it has TLS",
                server.place,
            )


def _defaults(proxy: Proxy) -> dict[str, Server]:
    """Return the server for unknown names of each address and port: marked, or else the first."""
    marked: dict[str, Server] = {}
    first: dict[str, Server] = {}
    for server in proxy.configuration.servers:
        for socket, is_default, _ in server.sockets:
            first.setdefault(socket, server)
            if is_default:
                marked[socket] = server
    return first | marked


def _refuses_all(server: Server) -> bool:
    return bool(server.scope.own("return")) or (
        server.scope.value("ssl_reject_handshake", "off") == "on"
    )


def _refuses_names(location: Location) -> bool:
    """Tell whether an `if` about the host answers with a refusal."""
    return any(
        "host" in " ".join(inner.directive.arguments) and _returns_refusal(inner)
        for outer in location.scope.outwards()
        for inner in outer.scopes
        if inner.directive.name == "if"
    )


def _returns_refusal(scope: Scope) -> bool:
    return any(line.arguments[:1] and line.arguments[0][0] == "4" for line in scope.own("return"))


CHECK = NginxCheck("default-server", ("https://github.com/NixOS/nixpkgs/issues/392886",), _find)
