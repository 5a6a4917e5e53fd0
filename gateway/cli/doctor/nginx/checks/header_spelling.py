"""Header names with underscores and invalid characters: programs read them as the dashed ones.

The default server of a socket decides for every request whose server is not known yet when its
headers are read: without TLS, or without a server name in the handshake. attacks: A4, B6
Source: https://nginx.org/en/docs/http/ngx_http_core_module.html#underscores_in_headers
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding, Place
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Server

_SAFE: Final = (
    ("underscores_in_headers", "off", "Remote_User"),
    ("ignore_invalid_headers", "on", "Remote.User"),
)
"""Each directive, its safe value, and a name that the other value lets in."""


def _find(proxy: Proxy) -> Iterator[Finding]:
    known: set[Place] = set()
    for server in (*proxy.sensitive, *_default_servers(proxy)):
        for directive, safe, name in _SAFE:
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


CHECK = NginxCheck(
    "header-spelling",
    (
        "https://github.com/benoitc/gunicorn/issues/2799",
        "https://github.com/aptible/docker-nginx/pull/48",
    ),
    _find,
)
