"""Paths before they are routed: with and without /auth, without control characters. Spec: 4.2."""

import re
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

_PREFIX: Final = "/auth"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class AuthPrefix:
    """Strips the leading /auth segment: /auth/realms/... is /realms/..."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path.startswith(_PREFIX + "/"):
            scope = {**scope, "path": path.removeprefix(_PREFIX)}
        await self._app(scope, receive, send)


class PrintablePath:
    """Sends paths with control characters to `unmatched`, all others to `app`.

    A route's pattern ends with `$`, which also matches before a newline (`/token%0A`).
    """

    def __init__(self, app: ASGIApp, unmatched: ASGIApp) -> None:
        self._app = app
        self._unmatched = unmatched

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._unmatched if _CONTROL.search(scope["path"]) else self._app
        await app(scope, receive, send)
