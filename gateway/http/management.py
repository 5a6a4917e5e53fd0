"""Health, metrics and OpenAPI document: a listener for the operator's network, never proxied.

Only parts that every response needs decide: without SQL or the keys no token can be issued. Redis
and the revocation list are only reported. A gateway without Redis still issues and verifies tokens,
so taking all gateways out of service would turn a partial outage into a complete one; the same
holds for a stale revocation list, which rejects certificates but no client secrets. A Redis that
evicts keys is different: it would silently drop lockouts.

Keycloak: management interface; /health/live, /health/ready, /health/started, /metrics
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.domain.errors import RealmgateError
from gateway.http.middleware import complete_lifespan
from gateway.http.replies import Reply, send_reply


@dataclass(slots=True)
class Lifecycle:
    """The state of one worker; while it drains, readiness fails."""

    started: bool = False
    draining: bool = False


_LONGEST_CHECK = 1.0

Data = Mapping[str, str | int | bool]


@dataclass(frozen=True, slots=True)
class Check:
    """A check: `probe` raises or returns data; the worker is not ready if it `decides`."""

    name: str
    probe: Callable[[], Awaitable[Data]]
    decides: bool = True


class CheckFailed(RealmgateError):
    """A check failed; `str()` is for operators. The worker stays ready unless it `decides`."""

    def __init__(self, reason: str, *, decides: bool = True) -> None:
        super().__init__(reason)
        self.decides = decides


async def readiness(checks: Sequence[Check]) -> tuple[bool, dict[str, Any]]:
    """Run all checks at once; returns whether the worker is ready, and the report."""
    reports = await asyncio.gather(*(_report(check) for check in checks))
    ready = all(ready for ready, _ in reports)
    documents = [document for _, document in reports]
    return ready, {"status": "UP" if ready else "DOWN", "checks": documents}


async def _report(check: Check) -> tuple[bool, dict[str, Any]]:
    """Run one check; return whether the worker can be ready, and the report."""
    try:
        async with asyncio.timeout(_LONGEST_CHECK):
            data = await check.probe()
    except TimeoutError:
        return not check.decides, _down(check, "no answer within 1 s")
    except CheckFailed as failure:
        return not (check.decides and failure.decides), _down(check, str(failure))
    except (RealmgateError, OSError) as failure:
        return not check.decides, _down(check, str(failure))
    return True, {"name": check.name, "status": "UP", **({"data": dict(data)} if data else {})}


def _down(check: Check, reason: str) -> dict[str, Any]:
    return {"name": check.name, "status": "DOWN", "data": {"reason": reason}}


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
