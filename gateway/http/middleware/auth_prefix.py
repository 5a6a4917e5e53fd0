"""Both forms of every path: /auth/realms/... is /realms/... Spec: 4.2."""

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

_PREFIX: Final = "/auth"


class AuthPrefix:
    """Strips the leading /auth segment."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on under its short path."""
        path: str = scope["path"]
        if path.startswith(_PREFIX + "/"):
            scope = {**scope, "path": path.removeprefix(_PREFIX)}
        await self._app(scope, receive, send)
