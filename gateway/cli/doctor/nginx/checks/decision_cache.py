"""A cached decision belongs to one caller and one request, and must become stale soon."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location
from gateway.cli.doctor.nginx.syntax import Directive

MOST_AGE: Final = timedelta(seconds=5)
_PARTS: Final = {
    "the token": r"\$\{?http_authorization\b",
    "the cookie": r"\$\{?(http_cookie|cookie_\w+)\b",
    "the certificate": r"\$\{?ssl_client_(escaped_cert|raw_cert|cert|fingerprint)\b",
    "the server": r"\$\{?server_name\b",
    "the host": r"\$\{?(http_host|host|realmgate_asked_host)\b",
    "the method": r"\$\{?(request_method|request)\b",
    "the path": r"\$\{?(request_uri|request)\b",
}
_UNITS: Final = {
    "ms": 0.001,
    "s": 1.0,
    "": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
    "M": 2592000.0,
    "y": 31536000.0,
}


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.decisions:
        caches = location.scope.in_force("proxy_cache")
        if not caches or caches[-1].arguments[:1] == ("off",):
            continue
        yield from _of_key(location, caches[-1])
        for line in location.scope.in_force("proxy_cache_valid"):
            age = _age(line)
            if age > MOST_AGE:
                yield Finding(
                    f"decisions are cached for {age.total_seconds():g} s: a user who signed out or"
                    " was disabled keeps access",
                    f"at most {MOST_AGE.total_seconds():g} s (include realmgate/guard-cache.conf)",
                    line.place,
                )


def _of_key(location: Location, cache: Directive) -> Iterator[Finding]:
    keys = location.scope.in_force("proxy_cache_key")
    key = keys[-1].arguments[0] if keys else "$scheme$proxy_host$request_uri"
    missing = [part for part, pattern in _PARTS.items() if not re.search(pattern, key)]
    if missing:
        yield Finding(
            f"the key of cached decisions lacks {', '.join(missing)}: one caller gets the decision"
            " about another",
            "proxy_cache_key of realmgate/guard-cache.conf",
            (keys[-1] if keys else cache).place,
        )


def _age(line: Directive) -> timedelta:
    """Return the duration at the end of a `proxy_cache_valid`."""
    parts = re.findall(r"(\d+)(ms|[smhdwMy]?)", line.arguments[-1])
    seconds = sum(int(number) * _UNITS[unit] for number, unit in parts)
    return timedelta(seconds=min(seconds, 1e9))


CHECK = NginxCheck(
    "decision-cache",
    (
        "https://github.com/nginxinc/nginx-ldap-auth/issues/103",
        "https://github.com/percona/pmm/pull/5670",
    ),
    _find,
)
