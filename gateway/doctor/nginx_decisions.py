"""Mistakes of nginx about decisions of forward-auth."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from gateway.doctor.findings import Finding
from gateway.doctor.nginx_scopes import DECISIONS, Location, Proxy, where_lost
from gateway.doctor.nginx_syntax import Directive


def find_auth_request_off(proxy: Proxy) -> Iterator[Finding]:
    """`auth_request off` takes a location out of the rules."""
    for location in proxy.unprotected:
        lines = location.scope.own("auth_request")
        if lines:
            yield Finding(
                f"auth_request {lines[-1].arguments[0]} opens {location} to everybody",
                "remove the line, and make the path anonymous in the rules: realmgate guard explain"
                " then shows it",
                lines[-1].place,
            )


_ALLOWS: Final = re.compile(r"=(2\d\d)?\Z")
_DECISION_ANSWER_REMEDY: Final = (
    "proxy_pass http://realmgate/.realmgate/guard/nginx; (include realmgate/guard-server.conf)"
)


def find_decision_answer(proxy: Proxy) -> Iterator[Finding]:
    """Only the gateway may say yes: nginx takes 200 to 299 as that. attacks: B1."""
    for location in proxy.decisions:
        address = proxy.configuration.address(location)
        if location not in proxy.to_gateway or location.answers_itself:
            problem = f"{location} decides without the gateway"
            yield Finding(problem, _DECISION_ANSWER_REMEDY, location.place)
        elif address is not None and address.path != f"{DECISIONS}nginx":
            problem = f"{location} asks {address.path or 'the path itself'}, which decides nothing"
            yield Finding(problem, _DECISION_ANSWER_REMEDY, location.place)
        yield from _of_errors(location)


def _of_errors(location: Location) -> Iterator[Finding]:
    if location.scope.value("proxy_intercept_errors", "off") == "off":
        return
    for line in location.scope.in_force("error_page"):
        if any(map(_ALLOWS.fullmatch, line.arguments)):
            yield Finding(
                f"error_page {' '.join(line.arguments)} makes an error of the gateway a permission",
                "proxy_intercept_errors off;",
                line.place,
            )


def find_decision_body(proxy: Proxy) -> Iterator[Finding]:
    """A decision request has no body: with a Content-Length the gateway waits for one."""
    for location in proxy.decisions:
        if location.handler is None:
            continue
        length = location.scope.headers().get("content-length")
        passes = location.scope.value("proxy_pass_request_body", "on") == "on"
        if passes or length is None or length.arguments[1]:
            yield Finding(
                f"{location} announces a body that nginx does not send: every POST waits for its"
                " time-out",
                'proxy_pass_request_body off; proxy_set_header Content-Length "";'
                " (include realmgate/guard-server.conf)",
                location.place,
            )


LEAST: Final = 16 * 1024
_BYTES: Final = {"": 1, "k": 1024, "m": 1024 * 1024}


def find_decision_buffer(proxy: Proxy) -> Iterator[Finding]:
    """A decision has its answer in headers: nginx fails where its buffer is too small for them."""
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
    return int(match[1]) * _BYTES[match[2]] if match else 0


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
_SECONDS: Final = {
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


def find_decision_cache(proxy: Proxy) -> Iterator[Finding]:
    """A cached decision belongs to one caller and one request, and must become stale soon."""
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
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in parts)
    return timedelta(seconds=min(seconds, 1e9))


def find_decision_internal(proxy: Proxy) -> Iterator[Finding]:
    """Callers must not reach the decision endpoint: its responses reveal the rules."""
    for location in proxy.decisions:
        if not location.is_internal:
            yield Finding(
                f"callers can request {location} themselves, and read decisions and identities",
                "internal; (include realmgate/guard-server.conf)",
                location.place,
            )


_REQUIRED: Final = {
    "x-original-request": ("$request",),
    "x-forwarded-host": ("$http_host", "$host", "$realmgate_asked_host"),
    "x-forwarded-proto": ("$scheme", "https", "http"),
}
"""Headers of the decision request, and values that come from nginx."""


def find_decision_request(proxy: Proxy) -> Iterator[Finding]:
    """Values of the request must come from nginx, never from headers of the caller. attacks: B4."""
    for location in proxy.decisions:
        if location not in proxy.to_gateway:
            continue  # of decision-answer
        headers = location.scope.headers()
        for name, values in _REQUIRED.items():
            header = headers.get(name)
            if header is not None and header.arguments[1] in values:
                continue
            lost = where_lost(location.scope, name)
            other = header is not None and header.arguments[1]
            sent = f" but {other}" if other else ""
            yield Finding(
                f"{location} does not send {values[0]} in {name}{sent}: the rules are evaluated on"
                f" what the caller claims{lost}",
                f"proxy_set_header {name} {values[0]}; (include realmgate/guard-server.conf)",
                header.place if header is not None and other else location.place,
            )


_REFUSALS: Final = {"401", "403", "500", "502", "503", "504"}
_SUCCESS: Final = re.compile(r"=2\d\d")


def find_error_page(proxy: Proxy) -> Iterator[Finding]:
    """An error page must keep the refusal: no 200, and no way to the service."""
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


def find_intercepted_errors(proxy: Proxy) -> Iterator[Finding]:
    """Programs need the gateway's own errors: WWW-Authenticate, and the JSON of RFC 6749 §5.2."""
    for location in proxy.to_gateway:
        if location.explains_refusals:
            continue  # the static page follows where the gateway has none
        if location.scope.value("proxy_intercept_errors", "off") == "on":
            line = location.scope.in_force("proxy_intercept_errors")[-1]
            yield Finding(
                f"proxy_intercept_errors on replaces the errors of the gateway in {location}",
                "proxy_intercept_errors off; (include realmgate/gateway.conf)",
                line.place,
            )


def find_satisfy_any(proxy: Proxy) -> Iterator[Finding]:
    """With `satisfy any` an address or a password is enough, whatever the decision is.

    Source: https://nginx.org/en/docs/http/ngx_http_core_module.html#satisfy
    """
    for location in proxy.protected:
        if location.scope.value("satisfy", "all") == "any":
            line = location.scope.in_force("satisfy")[-1]
            yield Finding(
                f"satisfy any lets requests to {location} pass that the gateway refuses",
                "satisfy all;",
                line.place,
            )


_PUBLIC: Final = ("/.well-known/", "/favicon.ico", "/robots.txt")
"""Files that every site shows to all callers."""
_UNPROTECTED_LOCATION_REMEDY: Final = (
    "include realmgate/guard.conf in the location; paths without sign-in belong into the rules, as"
    " anonymous paths"
)


def find_unprotected_location(proxy: Proxy) -> Iterator[Finding]:
    """A location without a decision in a server that asks for decisions: a way around all rules."""
    for location in proxy.unprotected:
        if location.is_pattern or location.scope.own("auth_request"):
            continue  # of regular-expression and auth-request-off
        if proxy.same_service(location):
            problem = f"{location} leads to a protected service without a decision"
            yield Finding(problem, _UNPROTECTED_LOCATION_REMEDY, location.place)
        elif not location.path.startswith(_PUBLIC) and (around := _around(proxy, location)):
            problem = f"{location} is not protected, {around} around it on {around.place} is"
            yield Finding(problem, _UNPROTECTED_LOCATION_REMEDY, location.place)
    for location in proxy.unused_decisions:
        if not location.path.startswith(_PUBLIC):
            problem = f"{location} needs no decision, and no other location of its server does"
            yield Finding(problem, _UNPROTECTED_LOCATION_REMEDY, location.place)


def _around(proxy: Proxy, location: Location) -> Location | None:
    """Return a protected location whose path contains this one's."""
    return next(
        (
            other
            for other in proxy.protected
            if other.server is location.server
            and other.modifier in {"", "^~"}
            and location.path.startswith(other.path)
        ),
        None,
    )


_DECODED: Final = re.compile(r"\$(\{?(uri|document_uri)\b|\{?[1-9])")
_REDIRECTS: Final = {"redirect", "permanent"}
_ABSOLUTE: Final = ("http://", "https://", "$scheme")


def find_changed_path(proxy: Proxy) -> Iterator[Finding]:
    """The service must see the path that was decided about. attacks: B3."""
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
