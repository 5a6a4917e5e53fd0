"""A location without a slash at its end and an alias with one: `/files../` leaves the folder.

Source: https://nginx.org/en/docs/http/ngx_http_core_module.html#alias
"""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
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


CHECK = NginxCheck(
    "alias-traversal",
    (
        "https://github.com/membermatters/MemberMatters/issues/109",
        "https://github.com/yandex/gixy/issues/61",
    ),
    _find,
)
