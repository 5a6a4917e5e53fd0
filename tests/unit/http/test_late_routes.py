"""Routes that come late: built once, by whoever asks first, and not before."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from gateway.http.late_routes import LateRoutes

_NEEDLESS = "gateway.http.admin.routes"


def _scope(path: str, kind: str = "http") -> dict[str, Any]:
    return {"type": kind, "path": path, "method": "GET", "headers": [], "query_string": b""}


async def _otherwise(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("nowhere", 404)(scope, receive, send)


class _Late:
    def __init__(self) -> None:
        self.built = 0
        self.routes = LateRoutes(lambda path: path.startswith("/late"), self._build, _otherwise)

    def _build(self) -> Sequence[BaseRoute]:
        self.built += 1
        return [Route("/late/here", lambda request: PlainTextResponse(request.method))]

    async def status(self, path: str) -> int:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.routes.handle(_scope(path), receive, send)
        status: int = sent[0]["status"]
        return status


def test_they_are_asked_for_their_paths_alone_and_not_built_for_it() -> None:
    late = _Late()
    assert late.routes.matches(_scope("/late/here")) == (Match.FULL, {})
    assert late.routes.matches(_scope("/early")) == (Match.NONE, {})
    assert late.routes.matches(_scope("/late", "lifespan")) == (Match.NONE, {})
    assert late.built == 0


async def test_who_comes_first_has_them_built_and_nobody_again() -> None:
    late = _Late()
    assert await asyncio.gather(*(late.status("/late/here") for _ in range(5))) == [200] * 5
    assert await late.status("/late/nowhere") == 404
    assert late.built == 1


def test_a_worker_begins_without_the_admin_api() -> None:
    code = f"import sys, gateway.bootstrap.applications; sys.exit({_NEEDLESS!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
