"""The layers between server and endpoints: pure ASGI classes."""

import asyncio
import re
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits.caches import cached
from gateway.domain.limits.fair_share import caller_address
from gateway.domain.ports.lookups import Directory
from gateway.domain.ports.observability import Metrics, SecurityEvent, Tracer
from gateway.domain.realm import MASTER, SecurityHeaders
from gateway.http.edge import Edge, EdgeFacts, EdgeRefusal
from gateway.http.errors import reply_for
from gateway.http.exchange import EXCHANGE, Exchange, escaped_path, split_path
from gateway.http.realm_endpoint import LONGEST_REALM_NAME
from gateway.http.replies import Headers, send_reply


async def complete_lifespan(receive: Receive, send: Send) -> None:
    """Confirm each lifespan message at once, until shutdown. Spec: ASGI lifespan protocol 2.0."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


class EdgeMiddleware:
    """Reads the facts of each request once and attaches them to its exchange."""

    def __init__(
        self, app: ASGIApp, edge: Edge, metrics: Metrics, log: FilteringBoundLogger
    ) -> None:
        self._app = app
        self._edge = edge
        self._metrics = metrics
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application with the facts; 400 where the headers contradict each other."""
        exchange: Exchange = scope[EXCHANGE]
        try:
            facts = self._edge.facts(scope)
        except EdgeRefusal as error:
            self._security_event("malformed_proxy_headers", exchange, str(error))
            await send_reply(reply_for(error, exchange, self._log), send)
            return
        exchange.facts = facts
        if facts.request_id is not None:
            exchange.request_id = facts.request_id
        caller_address.set(facts.remote_address)
        if facts.ignored is not None:
            self._report_ignored_headers(facts, exchange)
        await self._app(scope, receive, send)

    def _report_ignored_headers(self, facts: EdgeFacts, exchange: Exchange) -> None:
        certificate = facts.forged_certificate
        what = "the certificate header" if certificate else "the proxy headers"
        self._security_event(
            "untrusted_certificate_header" if certificate else "untrusted_proxy_headers",
            exchange,
            f"ignored {what} from {facts.remote_address}: {facts.ignored}",
        )

    def _security_event(self, kind: SecurityEvent, exchange: Exchange, reason: str) -> None:
        self._metrics.security_event(kind)
        self._log.warning("security", kind=kind, reason=reason, request_id=exchange.request_id)


_AUTH_PREFIX: Final = "/auth"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DOT_SEGMENTS: Final = frozenset({".", ".."})


class PlainPath:
    """Strips the leading /auth segment, and one slash at the end: /auth/realms/a/ is /realms/a.

    Keycloak takes one slash at the end of every path; an escaped one belongs to the last segment.
    Paths with control characters or dot segments go to `unmatched`: a route's pattern ends with
    `$`, which also matches before a newline (`/token%0A`). nginx chooses a location by the path
    without dot segments, and passes the path as sent: a location for one path must not lead to a
    route of another one. Spec: 4.2
    """

    def __init__(self, app: ASGIApp, unmatched: ASGIApp) -> None:
        self._app = app
        self._unmatched = unmatched

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        has_dots = "/." in path and not _DOT_SEGMENTS.isdisjoint(path.split("/"))
        if has_dots or _CONTROL.search(path):
            await self._unmatched(scope, receive, send)
            return
        plain = path.removeprefix(_AUTH_PREFIX) if path.startswith(_AUTH_PREFIX + "/") else path
        if len(plain) > 1 and plain.endswith("/") and escaped_path(scope).endswith("/"):
            plain = plain[:-1]
        if plain != path:
            scope = {**scope, "path": plain}
        await self._app(scope, receive, send)


_TRACEPARENT = b"traceparent"


class RequestLog:
    """Writes one line, one count and one span for each request when its response is complete.

    The line contains realm, client, certificate thumbprint and token id, never a secret, a token, a
    certificate or the query. The outermost layer: it also logs requests that raise.
    """

    def __init__(
        self, app: ASGIApp, log: FilteringBoundLogger, metrics: Metrics, tracer: Tracer
    ) -> None:
        self._app = app
        self._log = log
        self._metrics = metrics
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        exchange = scope[EXCHANGE] = Exchange()
        traceparent = dict(scope["headers"]).get(_TRACEPARENT, b"").decode("latin-1")
        trace = self._tracer.begin(scope["method"], traceparent or None)
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])  # a plain number: the log need not look into it
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if trace is not None:
                trace.end(status)
            trace_id = None if trace is None else trace.trace_id
            self._write_line(scope, exchange, status, perf_counter() - started, trace_id)

    def _write_line(
        self, scope: Scope, exchange: Exchange, status: int, seconds: float, trace_id: str | None
    ) -> None:
        self._metrics.request(exchange.route, scope["method"], status, seconds)
        if not self._log.is_enabled_for(exchange.log_level):
            return
        known = vars(exchange.log).items()
        fields = {name: value for name, value in known if value is not None}
        if trace_id is not None:
            fields["trace_id"] = trace_id
        facts: EdgeFacts | None = getattr(exchange, "facts", None)
        if facts is not None:
            fields["remote_address"] = facts.remote_address
            if facts.certificate is not None:
                fields["certificate"] = facts.certificate.leaf.thumbprint
        self._log.log(
            exchange.log_level,
            "request",
            request_id=exchange.request_id,
            method=scope["method"],
            route=exchange.route,
            status=status,
            milliseconds=round(seconds * 1000, 3),
            **fields,
        )


_DEFAULT_HEADERS: Final = SecurityHeaders()
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
    """Adds the headers for browsers of the realm in the path to each response.

    Endpoints look the realm up and store its values in the exchange. For responses without an
    endpoint (unmatched paths, requests that the edge rejects) the realm is looked up here. A path
    of the admin API that names no realm has the values of the caller's realm, or those of `master`;
    a path outside all realms has the defaults.

    Values are sent as the realm sets them, empty ones are not sent; the content security policy is
    sent with pages only. Spec: 2.2 `browser_security_headers`; Keycloak: 0.3 headers, 14 (browser
    headers)
    """

    def __init__(self, app: ASGIApp, directory: Directory) -> None:
        self._app = app
        self._directory = directory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange: Exchange = scope[EXCHANGE]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                values = exchange.security_headers or await self._find_headers(scope)
                message["headers"] = [*message["headers"], *on_every_response(values)]
            await send(message)

        await self._app(scope, receive, send_with_headers)

    async def _find_headers(self, scope: Scope) -> SecurityHeaders:
        name = _realm_in_path(scope)
        # A store may reject control characters, and no realm has them in its name.
        if name is None or len(name) > LONGEST_REALM_NAME or not name.isprintable():
            return _DEFAULT_HEADERS
        try:
            entry = await self._directory.realm(name)
        except StoreUnavailable:
            return _DEFAULT_HEADERS
        return _DEFAULT_HEADERS if entry is None else entry.realm.security_headers


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


_LARGEST_BODY: Final = 1024 * 1024
_LONGEST_WAIT: Final = 5.0
_HAS_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})


class UnreadBody:
    """Reads and discards the rest of a small body before the response begins.

    Some responses are known before the body has arrived, such as 401 without a token. If the
    connection is closed then, a proxy that is still writing loses the response. For a large or slow
    body the response does not wait.
    Spec: RFC 9112 §9.6 (closing while the peer still sends destroys the answer)
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _HAS_BODY.isdisjoint(dict(scope["headers"])):
            await self._app(scope, receive, send)
            return
        body = _Body(receive)

        async def send_after_body(message: Message) -> None:
            if message["type"] == "http.response.start" and not body.over:
                await body.read_rest()
            await send(message)

        await self._app(scope, body.receive, send_after_body)


@dataclass(slots=True)
class _Body:
    """The messages of a body; `over` after the last."""

    _receive: Receive
    over: bool = False

    async def receive(self) -> Message:
        message = await self._receive()
        self.over = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def read_rest(self) -> None:
        left = _LARGEST_BODY
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                while not self.over and left > 0:
                    left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return
