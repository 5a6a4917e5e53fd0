"""The service must see the path that was decided about. attacks: B3."""

import re
from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location
from gateway.cli.doctor.nginx.syntax import Directive

_DECODED: Final = re.compile(r"\$(\{?(uri|document_uri)\b|\{?[1-9])")
_REDIRECTS: Final = {"redirect", "permanent"}
_ABSOLUTE: Final = ("http://", "https://", "$scheme")


def _find(proxy: Proxy) -> Iterator[Finding]:
    for location in proxy.protected:
        yield from _of_slash(proxy, location)
        yield from _of_variables(location)
    for scope in dict.fromkeys(
        scope for location in proxy.protected for scope in location.scope.outwards()
    ):
        for line in scope.own("rewrite"):
            if not _redirects(line):
                yield Finding(
                    f"rewrite {' '.join(line.arguments)} changes the path, but the rules are"
                    " evaluated on the path of the request",
                    "rewrite in the service, or answer with a redirect: return 308",
                    line.place,
                )


def _of_slash(proxy: Proxy, location: Location) -> Iterator[Finding]:
    address, handler = proxy.configuration.address(location), location.handler
    if address is None or handler is None or address.path is None:
        return
    prefix = location.modifier in {"", "^~"} and not location.is_named
    if prefix and address.path.endswith("/") and not location.path.endswith("/"):
        yield Finding(
            f"{location} with {handler.name} {handler.arguments[0]} passes {location.path}../x on"
            f" as {address.path}../x",
            f"location {location.path}/ or {handler.name} without a path",
            handler.place,
        )


def _of_variables(location: Location) -> Iterator[Finding]:
    handler = location.handler
    if handler is not None and any(map(_DECODED.search, handler.arguments)):
        yield Finding(
            f"{handler.name} {handler.arguments[0]} passes the decoded path on, also %0d%0a as line"
            " ends",
            f"{handler.name} without a path, or with $request_uri",
            handler.place,
        )


def _redirects(line: Directive) -> bool:
    return line.arguments[-1] in _REDIRECTS or line.arguments[1:2][0].startswith(_ABSOLUTE)


CHECK = NginxCheck(
    "changed-path",
    (
        "https://github.com/YunoHost-Apps/redirect_ynh/issues/7",
        "https://github.com/OSSTech-JP/nginx-mod-am/issues/5",
        "https://github.com/nginx/nginx/pull/590",
    ),
    _find,
)
