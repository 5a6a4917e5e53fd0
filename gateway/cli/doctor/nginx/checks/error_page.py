"""An error page must keep the refusal: no 200, and no way to the service."""

import re
from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location
from gateway.cli.doctor.nginx.syntax import Directive

_REFUSALS: Final = {"401", "403", "500", "502", "503", "504"}
_SUCCESS: Final = re.compile(r"=2\d\d")


def _find(proxy: Proxy) -> Iterator[Finding]:
    seen: set[Directive] = set()
    for location in proxy.protected:
        for line in location.scope.in_force("error_page"):
            if line in seen or _REFUSALS.isdisjoint(line.arguments):
                continue
            seen.add(line)
            problem = _problem(proxy, location, line)
            if problem is not None:
                remedy = "include realmgate/guard-server.conf, without an error_page of your own"
                yield Finding(
                    f"error_page {' '.join(line.arguments)} {problem}", remedy, line.place
                )


def _problem(proxy: Proxy, location: Location, line: Directive) -> str | None:
    if any(map(_SUCCESS.fullmatch, line.arguments)):
        return "answers a refused request with success"
    page = _page(location, line.arguments[-1])
    if page is None or page in proxy.protected or page in proxy.to_gateway:
        return None
    if proxy.same_service(page):
        return f"leads a refused request to the service, by {page} on {page.place}"
    if "=" in line.arguments and page.handler is not None:
        return "answers a refused request with the status of another server"
    return None


def _page(location: Location, target: str) -> Location | None:
    pages = (page for page in location.server.locations if page.path == target)
    return next(pages, None)


CHECK = NginxCheck(
    "error-page",
    ("https://github.com/oauth2-proxy/oauth2-proxy/issues/2322",),
    _find,
)
