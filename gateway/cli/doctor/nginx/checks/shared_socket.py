"""Servers of one address and port must agree on client certificates.

A TLS session of one server could be resumed at another that would not have begun it. attacks: A13
"""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Server

_DIRECTIVES = ("ssl_verify_client", "ssl_client_certificate", "ssl_trusted_certificate", "ssl_crl")


def _find(proxy: Proxy) -> Iterator[Finding]:
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


CHECK = NginxCheck(
    "shared-socket",
    (
        "https://github.com/nginx/nginx/pull/493",
        "https://github.com/AOSC-Dev/aosc-os-abbs/issues/9565",
    ),
    _find,
)
