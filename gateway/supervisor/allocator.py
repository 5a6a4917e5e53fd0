"""The C library's allocator, set up for processes whose threads wait for one lock."""

import asyncio
import ctypes
from datetime import timedelta
from typing import Final

_ARENA_MAX: Final = -8
"""`M_ARENA_MAX` of glibc's `malloc.h`."""
_INTERVAL: Final = timedelta(seconds=10)


def limit_malloc_arenas() -> None:
    """Let all threads of this process and of its children allocate from one heap.

    glibc gives each thread a heap of its own, none of which ever shrinks: 2 MB of a worker. They
    exist so that threads need not wait for each other, and Python's threads take turns anyway.
    Call it before the first thread is started. Other C libraries have one heap, and no `mallopt`.
    Source: mallopt(3)
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)


async def return_free_memory(interval: timedelta = _INTERVAL) -> None:
    """Return free pages of the heap to the system, every `interval`.

    By itself glibc returns only the end of the heap. What compiled the first pages leaves 2 MB
    between blocks that stay. Source: malloc_trim(3)
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while malloc_trim is not None:
        await asyncio.sleep(interval.total_seconds())
        malloc_trim(0)
