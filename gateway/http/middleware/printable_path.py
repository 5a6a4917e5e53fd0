"""Control characters are in no address of ours, wherever a route would overlook them.

A route's pattern ends with `$`, which also matches before a newline (`/token%0A`).
"""

import re
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class PrintablePath:
    """Keeps paths with control characters from being routed."""

    def __init__(self, app: ASGIApp, unmatched: ASGIApp) -> None:
        """`unmatched` answers the paths with control characters, `app` all others."""
        self._app = app
        self._unmatched = unmatched

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if its path can be read."""
        app = self._unmatched if _CONTROL.search(scope["path"]) else self._app
        await app(scope, receive, send)
