"""Resolving host names in the threads of the event loop, few at a time.

A slow name server of others must not use up the threads that connections to the stores need, nor
hold up names that were resolved before: realms and authorities choose names, and none of them may
decide whether a list or a responder of another realm can be asked. CWE-400; attacks A12, C21
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from gateway.domain.limits.caches import SizedCache

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Host and port -> IP addresses as text; raises OSError."""
_AT_ONCE: Final = 2
"""Of the four threads that uvloop resolves names in."""
LONGEST_LOOK_UP: Final = timedelta(milliseconds=500)
"""Of a name whose addresses are known; these are used where it takes longer."""
KNOWN_FOR: Final = timedelta(hours=1)
_KNOWN_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Known:
    """Addresses that may be used until `until`, in seconds of the event loop."""

    addresses: tuple[str, ...]
    until: float


class SystemResolver:
    """Resolves as the system is configured. Belongs to one event loop."""

    def __init__(self, known_for: timedelta = KNOWN_FOR) -> None:
        """Use addresses for `known_for` where their name is not resolved in time."""
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._known_for = known_for
        self._known: SizedCache[tuple[str, int], _Known] = SizedCache(_KNOWN_BYTES)

    async def __call__(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        known = self._known.get((host, port))
        if known is None or known.until <= loop.time():
            return await self._look_up(host, port)
        try:
            async with asyncio.timeout(LONGEST_LOOK_UP.total_seconds()):
                return await self._look_up(host, port)
        except TimeoutError:
            return list(known.addresses)

    async def _look_up(self, host: str, port: int) -> list[str]:
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._resolved(host, port))
        # The thread goes on when the caller no longer waits.
        task.add_done_callback(lambda _: self._free.release())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        found = await asyncio.shield(task)
        until = loop.time() + self._known_for.total_seconds()
        self._known.put((host, port), _Known(tuple(found), until))
        return found

    async def _resolved(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise OSError("not a host name") from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))
