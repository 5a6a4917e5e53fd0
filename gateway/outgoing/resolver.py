"""Resolving host names in the threads of the event loop, few at a time.

A slow name server of others must not use up the threads that connections to the stores need.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Final

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Host and port -> IP addresses as text; raises OSError."""
_AT_ONCE: Final = 2
"""Of the four threads that uvloop resolves names in."""


class SystemResolver:
    """Resolves as the system is configured."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, host: str, port: int) -> list[str]:
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._resolved(host, port))
        # The thread goes on when the caller no longer waits.
        task.add_done_callback(lambda _: self._free.release())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _resolved(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise OSError("not a host name") from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))
