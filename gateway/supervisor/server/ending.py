"""How a server ends without losing a request of a proxy that keeps its connections open.

A proxy may send a request at the moment when its idle connection is closed; a POST is then lost,
for the proxy must not send it again. So each response announces the end of its connection, and
idle connections are closed when requests have ceased. Source: RFC 9112 §9.6; attacks F14
"""

import asyncio
from datetime import timedelta
from typing import Final

_LOOK: Final = timedelta(milliseconds=50)


class Ending:
    """Whether a server ends, and whether requests still arrive."""

    def __init__(self) -> None:
        self._last_response: float | None = None
        """When it began, on the clock of the loop; None before the end."""

    def begin(self) -> None:
        """End each connection with its next response."""
        self._last_response = asyncio.get_running_loop().time()

    def ends_with_response(self) -> bool:
        """Tell whether the connection ends with the response that begins now."""
        if self._last_response is None:
            return False
        self._last_response = asyncio.get_running_loop().time()
        return True

    async def wait_for_quiet(self, quiet: timedelta, longest: timedelta) -> None:
        """Wait until no response has begun for `quiet`, for `longest` at most."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + longest.total_seconds()
        while (now := loop.time()) < latest:
            if now - (self._last_response or 0.0) >= quiet.total_seconds():
                return
            await asyncio.sleep(_LOOK.total_seconds())
