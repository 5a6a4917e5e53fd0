"""Access logs must not hold credentials, nor the queries that codes and tokens come in.

attacks: E5
"""

import re
from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Server
from gateway.cli.doctor.nginx.syntax import Directive

_CREDENTIALS: Final = re.compile(
    r"\$\{?(http_authorization|http_cookie|cookie_\w+|request_body|ssl_client_escaped_cert)\b"
)
_QUERIES: Final = re.compile(r"\$\{?(request|request_uri|args|query_string|http_referer)\b")
_BUILT_IN: Final = {"combined"}
"""Formats with $request and $http_referer that need no log_format."""


def _find(proxy: Proxy) -> Iterator[Finding]:
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
                yield Finding(
                    f"access_log {line.arguments[0]} has {secret.group()}, and so credentials,"
                    " codes or tokens",
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


CHECK = NginxCheck(
    "logged-secrets",
    (
        "https://github.com/binwiederhier/ntfy/issues/577",
        "https://github.com/cesium-ml/baselayer/pull/239",
    ),
    _find,
)
