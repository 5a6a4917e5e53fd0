"""Paths before they are routed: without /auth, a slash at the end, and control characters.

Keycloak takes one slash at the end of every path; an escaped one belongs to the last segment.
Spec: 4.2
"""

import re
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.http.path_segments import escaped_path

_PREFIX: Final = "/auth"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class PlainPath:
    """Strips the leading /auth segment, and one slash at the end: /auth/realms/a/ is /realms/a."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        plain = path.removeprefix(_PREFIX) if path.startswith(_PREFIX + "/") else path
        if len(plain) > 1 and plain.endswith("/") and escaped_path(scope).endswith("/"):
            plain = plain[:-1]
        if plain != path:
            scope = {**scope, "path": plain}
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
