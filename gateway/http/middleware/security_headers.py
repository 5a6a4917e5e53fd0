"""The headers for browsers of the realm in the path, on every response.

Endpoints look the realm up and store its values in the exchange. For responses without an endpoint
(unmatched paths, requests that the edge rejects) the realm is looked up here. A path of the
admin API that names no realm has the values of the caller's realm, or those of `master`; a path
outside all realms has the defaults.

Values are sent as the realm sets them, empty ones are not sent; the content security policy is
sent with pages only. Spec: 2.2 `browser_security_headers`; Keycloak: 0.3, 14
"""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits.caches import cached
from gateway.domain.ports.directory import Directory
from gateway.domain.realm import MASTER, SecurityHeaders
from gateway.http.exchange import exchange_of
from gateway.http.guarded_endpoint import LONGEST_REALM_NAME
from gateway.http.path_segments import split_path
from gateway.http.replies import Headers

_DEFAULT: Final = SecurityHeaders()
_ON_EVERY_RESPONSE: Final = {
    "referrerPolicy": b"referrer-policy",
    "strictTransportSecurity": b"strict-transport-security",
    "xContentTypeOptions": b"x-content-type-options",
    "xFrameOptions": b"x-frame-options",
    "xRobotsTag": b"x-robots-tag",
}
_ONLY_ON_PAGES: Final = {
    "contentSecurityPolicy": b"content-security-policy",
    "contentSecurityPolicyReportOnly": b"content-security-policy-report-only",
}


class SecurityHeadersMiddleware:
    """Adds the headers to the beginning of each response."""

    def __init__(self, app: ASGIApp, directory: Directory) -> None:
        self._app = app
        self._directory = directory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = exchange_of(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                values = exchange.security_headers or await self._find(scope)
                message["headers"] = [*message["headers"], *on_every_response(values)]
            await send(message)

        await self._app(scope, receive, send_with_headers)

    async def _find(self, scope: Scope) -> SecurityHeaders:
        name = _realm_in_path(scope)
        # A store may reject control characters, and no realm has them in its name.
        if name is None or len(name) > LONGEST_REALM_NAME or not name.isprintable():
            return _DEFAULT
        try:
            entry = await self._directory.realm(name)
        except StoreUnavailable:
            return _DEFAULT
        return _DEFAULT if entry is None else entry.realm.security_headers


def _realm_in_path(scope: Scope) -> str | None:
    """Return the name of the realm that a path belongs to, matched or not."""
    match split_path(scope):
        case ["realms", name, *_] | ["admin", "realms", name, *_] | ["admin", name, "console", *_]:
            return name
        case ["admin", *_]:
            return MASTER
    return None


@cached(2 * 1024 * 1024)
def on_every_response(headers: SecurityHeaders) -> Headers:
    """Return the headers of every response, with or without a body."""
    return _with_values(headers, _ON_EVERY_RESPONSE)


@cached(2 * 1024 * 1024)
def only_on_pages(headers: SecurityHeaders) -> Headers:
    """Return the additional headers of a response that a browser displays."""
    return _with_values(headers, _ONLY_ON_PAGES)


def _with_values(headers: SecurityHeaders, names: dict[str, bytes]) -> Headers:
    return tuple(
        (name, value.encode("latin-1"))
        for key, name in names.items()
        if (value := headers.value(key))
    )
