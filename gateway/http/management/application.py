"""Health, metrics and the API's description: a listener for the operator's network, never proxied.

Keycloak: management interface; /health/live, /health/ready, /health/started, /metrics.
"""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.http.lifespan import complete_lifespan
from gateway.http.management.checks import Check, readiness
from gateway.http.management.lifecycle import Lifecycle

_JSON: Final = b"application/json"
_METRICS: Final = b"text/plain; version=0.0.4; charset=utf-8"
_UP: Final = {"status": "UP", "checks": []}
_DOWN: Final = {"status": "DOWN", "checks": []}
_METHODS: Final = ("GET", "HEAD")

_Answer = tuple[HTTPStatus, bytes, bytes]


def build_management_application(
    lifecycle: Lifecycle,
    checks: Sequence[Check],
    metrics: Callable[[], bytes],
    openapi: Callable[[], bytes],
) -> ASGIApp:
    """Return the application of the management listener."""
    texts = {"/metrics": (_METRICS, metrics), "/openapi.json": (_JSON, openapi)}

    async def ready() -> _Answer:
        if lifecycle.draining or not lifecycle.started:
            return _json(up=False, report=_DOWN)
        up, report = await readiness(checks)
        return _json(up=up, report=report)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await complete_lifespan(receive, send)
            return
        if scope["method"] not in _METHODS:
            answer = (HTTPStatus.METHOD_NOT_ALLOWED, _JSON, b'{"error":"HTTP 405"}')
        else:
            match scope["path"]:
                case "/health/ready":
                    answer = await ready()
                case "/health/live":
                    answer = _json(up=True, report=_UP)
                case "/health/started":
                    answer = _json(up=lifecycle.started, report=_UP if lifecycle.started else _DOWN)
                case path if path in texts:
                    content_type, text = texts[path]
                    answer = (HTTPStatus.OK, content_type, text())
                case _:
                    answer = (HTTPStatus.NOT_FOUND, _JSON, b'{"error":"HTTP 404"}')
        await _send(answer, send)

    return application


def _json(*, up: bool, report: dict[str, Any]) -> _Answer:
    status = HTTPStatus.OK if up else HTTPStatus.SERVICE_UNAVAILABLE
    return status, _JSON, orjson.dumps(report)


async def _send(answer: _Answer, send: Send) -> None:
    status, content_type, body = answer
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers.append((b"allow", ", ".join(_METHODS).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
