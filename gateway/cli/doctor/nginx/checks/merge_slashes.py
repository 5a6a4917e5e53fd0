"""With `merge_slashes off`, `//admin` is in no location of `/admin`. attacks: B3."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for server in proxy.sensitive:
        if server.scope.value("merge_slashes", "on") == "off":
            line = server.scope.in_force("merge_slashes")[-1]
            yield Finding(
                "merge_slashes off: a path with // goes around the locations it belongs to",
                "merge_slashes on;",
                line.place,
            )


CHECK = NginxCheck(
    "merge-slashes",
    (
        "https://github.com/nfriedly/node-unblocker/issues/55",
        "https://github.com/MinimalCompact/thumbor/pull/21",
    ),
    _find,
)
