"""Health, metrics and OpenAPI document: a listener for the operator's network, never proxied.

Keycloak: management interface; /health/live, /health/ready, /health/started, /metrics.
"""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.http.lifespan import complete_lifespan
from gateway.http.management.checks import Check, readiness
from gateway.http.management.lifecycle import Lifecycle
from gateway.http.replies import Reply, send_reply

_JSON: Final = b"application/json"
_METRICS: Final = b"text/plain; version=0.0.4; charset=utf-8"
_UP: Final = {"status": "UP", "checks": []}
_DOWN: Final = {"status": "DOWN", "checks": []}
_METHODS: Final = ("GET", "HEAD")


def build_management_application(
    lifecycle: Lifecycle,
    checks: Sequence[Check],
    metrics: Callable[[], Awaitable[bytes]],
    openapi: Callable[[], Awaitable[bytes]],
) -> ASGIApp:
    """Return the application of the management listener."""
    texts = {"/metrics": (_METRICS, metrics), "/openapi.json": (_JSON, openapi)}

    async def ready() -> Reply:
        if lifecycle.draining or not lifecycle.started:
            return _health(_DOWN, up=False)
        up, report = await readiness(checks)
        return _health(report, up=up)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await complete_lifespan(receive, send)
            return
        if scope["method"] not in _METHODS:
            allow = (b"allow", ", ".join(_METHODS).encode())
            reply = _reply(HTTPStatus.METHOD_NOT_ALLOWED, _JSON, b'{"error":"HTTP 405"}', allow)
        else:
            match scope["path"]:
                case "/health/ready":
                    reply = await ready()
                case "/health/live":
                    reply = _health(_UP, up=True)
                case "/health/started":
                    reply = _health(_UP if lifecycle.started else _DOWN, up=lifecycle.started)
                case path if path in texts:
                    content_type, text = texts[path]
                    reply = _reply(HTTPStatus.OK, content_type, await text())
                case _:
                    reply = _reply(HTTPStatus.NOT_FOUND, _JSON, b'{"error":"HTTP 404"}')
        await send_reply(reply, send)

    return application


def _health(report: dict[str, Any], *, up: bool) -> Reply:
    status = HTTPStatus.OK if up else HTTPStatus.SERVICE_UNAVAILABLE
    return _reply(status, _JSON, orjson.dumps(report))


def _reply(
    status: HTTPStatus, content_type: bytes, body: bytes, *headers: tuple[bytes, bytes]
) -> Reply:
    shared = ((b"content-type", content_type), (b"cache-control", b"no-store"))
    return Reply(status, (*shared, *headers), body)
