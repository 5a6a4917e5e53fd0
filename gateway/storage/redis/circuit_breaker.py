"""A circuit breaker: while a server does not answer, callers are refused at once.

Closed, every call is tried. After `FAILURES` calls in a row without an answer the breaker opens and
refuses calls without trying them. While it is open a background task, and never a request, probes
the server every `PAUSE`; the first answer closes the breaker.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

FAILURES: Final = 3
"""Unanswered calls in a row that open the breaker."""
PAUSE: Final = timedelta(milliseconds=250)
"""Between two probes, which take no longer than the time limits of connecting and replies."""


class CircuitOpen(RedisConnectionError):
    """The call was refused without a request to the server; `str()` gives the last failure."""


class CircuitBreaker:
    """One server's breaker. `probe` raises RedisError or OSError while there is no answer.

    Belongs to one event loop.
    """

    def __init__(self, probe: Callable[[], Awaitable[None]]) -> None:
        self._probe = probe
        self._failures = 0
        self._reason = ""
        self._probing: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self._probing is not None

    def require_closed(self) -> None:
        """Raise CircuitOpen while the server does not answer."""
        if self._probing is not None:
            raise CircuitOpen(f"circuit breaker open: {self._reason}")

    def succeeded(self) -> None:
        """Record an answer; an error of the server is one, too."""
        self._failures = 0

    def failed(self, failure: Exception) -> None:
        """Record a call without an answer."""
        self._failures += 1
        self._reason = str(failure) or "the server does not answer in time"
        if self._failures >= FAILURES and self._probing is None:
            self._probing = asyncio.create_task(self._probe_until_answered(), name="redis-probe")

    async def close(self) -> None:
        task, self._probing = self._probing, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _probe_until_answered(self) -> None:
        try:
            while True:
                try:
                    # Without a pause first: after a burst of this process the server answers.
                    await self._probe()
                except (RedisError, OSError) as failure:
                    self._reason = str(failure) or self._reason
                else:
                    break
                await asyncio.sleep(PAUSE.total_seconds())
        finally:
            self._failures = 0
            self._probing = None
