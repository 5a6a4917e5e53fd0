"""Routes that are imported and built once the first request for one of them has come.

The admin API is a third of the program: a gateway that issues tokens, and is set up by files, never
pays for it. Workers that share the program have it imported before they are forked.
"""

import asyncio
from collections.abc import Callable, Sequence

from starlette.routing import BaseRoute, Match, Router
from starlette.types import ASGIApp, Receive, Scope, Send


class LateRoutes(BaseRoute):
    """What `build` returns, for the paths that `are_meant`; what none of them is, for `default`."""

    def __init__(
        self,
        are_meant: Callable[[str], bool],
        build: Callable[[], Sequence[BaseRoute]],
        default: ASGIApp,
    ) -> None:
        self._are_meant = are_meant
        self._build = build
        self._default = default
        self._router: Router | None = None
        self._building = asyncio.Lock()

    def build(self) -> Sequence[BaseRoute]:
        """Build and return the routes, for inspection."""
        return self._build()

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell whether the path may be one of them."""
        is_meant = scope["type"] == "http" and self._are_meant(scope["path"])
        return (Match.FULL if is_meant else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route answer; whoever comes first waits for a moment, beside all the others."""
        router = self._router or await self._built()
        await router(scope, receive, send)

    async def _built(self) -> Router:
        async with self._building:
            if self._router is None:
                routes = await asyncio.to_thread(self._build)
                self._router = Router(routes, redirect_slashes=False, default=self._default)
            return self._router
