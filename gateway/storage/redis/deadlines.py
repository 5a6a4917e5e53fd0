"""Deadlines that a busy process does not take for an outage.

While the event loop is held up, replies lie unread and time passes all the same.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

_LAST_LOOK: Final = 0.005
_PARTS: Final = 5


@asynccontextmanager
async def time_limit(limit: timedelta) -> AsyncIterator[None]:
    """Raise TimeoutError where the block takes longer than `limit`.

    Time passes in parts, each of which begins when the event loop runs: of a time in which it was
    held up, one part counts at most.
    """
    loop = asyncio.get_running_loop()
    part = limit.total_seconds() / _PARTS
    async with asyncio.timeout(None) as deadline:
        left = _PARTS
        timer: asyncio.TimerHandle

        def end_part() -> None:
            nonlocal left, timer
            left -= 1
            if left:
                timer = loop.call_later(part, end_part)
            else:
                # One more look at the sockets: a reply that has come already is read.
                deadline.reschedule(loop.time() + _LAST_LOOK)

        timer = loop.call_later(part, end_part)
        try:
            yield
        finally:
            timer.cancel()
