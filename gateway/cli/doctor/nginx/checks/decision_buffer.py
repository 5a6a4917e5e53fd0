"""A decision has its answer in headers: nginx fails where its buffer is too small for them."""

import re
from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy

LEAST: Final = 16 * 1024
_UNITS: Final = {"": 1, "k": 1024, "m": 1024 * 1024}


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.decisions:
        if location.handler is None:
            continue
        found = location.scope.in_force("proxy_buffer_size")
        if not found or _bytes(found[-1].arguments[0]) < LEAST:
            yield Finding(
                f"{location} takes at most {found[-1].arguments[0] if found else '4k'} of headers:"
                " users with many groups or a token get 500",
                "proxy_buffer_size 32k; proxy_buffers 8 32k; (include realmgate/guard-server.conf)",
                found[-1].place if found else location.place,
            )


def _bytes(size: str) -> int:
    match = re.fullmatch(r"(\d+)([km]?)", size.lower())
    return int(match[1]) * _UNITS[match[2]] if match else 0


CHECK = NginxCheck(
    "decision-buffer",
    (
        "https://github.com/oauth2-proxy/oauth2-proxy/issues/676",
        "https://github.com/vouch/vouch-proxy/issues/426",
    ),
    _find,
)
