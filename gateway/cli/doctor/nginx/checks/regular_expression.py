"""Regular expressions go before prefixes: `~ [.]css$` takes `/admin/x.css` from `/admin/`.

Source: https://nginx.org/en/docs/http/ngx_http_core_module.html#location
"""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.unprotected:
        if location.is_pattern and not location.scope.own("auth_request"):
            yield Finding(
                f"{location} takes every path that matches from the protected locations",
                "include realmgate/guard.conf in the location, or write ^~ before the protected"
                " prefixes",
                location.place,
            )


CHECK = NginxCheck(
    "regular-expression",
    (
        "https://github.com/nginx/nginx-s3-gateway/pull/521",
        "https://github.com/Zloy/backuppc_on_nginx/issues/3",
    ),
    _find,
)
