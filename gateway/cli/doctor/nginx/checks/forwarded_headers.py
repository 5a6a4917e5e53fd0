"""Address and scheme of the caller must come from nginx: lock-outs and `sslRequired` use them.

attacks: A20, A22
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.inheritance import where_lost
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy

_REQUIRED: Final = {
    "x-forwarded-for": ("$remote_addr", "$realip_remote_addr"),
    "x-forwarded-proto": ("$scheme", "https", "http"),
}
"""Headers, and values that come from nginx."""
_ASKED: Final = "x-forwarded-for"
"""Of decision requests; their scheme is of decision-request."""


def _find(proxy: Proxy) -> Iterator[Finding]:
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


CHECK = NginxCheck(
    "forwarded-headers",
    (
        "https://github.com/KanishJebaMathewM/Truxify/issues/13918",
        "https://github.com/aliasvault/aliasvault/issues/2325",
    ),
    _find,
)
