"""Header names with underscores and invalid characters: programs read them as the dashed ones.

attacks: A4, B6
"""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for server in proxy.sensitive:
        for directive, safe in (
            ("underscores_in_headers", "off"),
            ("ignore_invalid_headers", "on"),
        ):
            if server.scope.value(directive, safe) != safe:
                line = server.scope.in_force(directive)[-1]
                yield Finding(
                    f"{directive} {line.arguments[0]} lets a caller send Remote_User, which many"
                    " programs read as Remote-User",
                    f"{directive} {safe};",
                    line.place,
                )


CHECK = NginxCheck(
    "header-spelling",
    (
        "https://github.com/benoitc/gunicorn/issues/2799",
        "https://github.com/aptible/docker-nginx/pull/48",
    ),
    _find,
)
