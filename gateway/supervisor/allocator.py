"""The C library's allocator, set up for processes of few threads that wait for one lock."""

import ctypes
from typing import Final

_ARENA_MAX: Final = -8
"""`M_ARENA_MAX` of glibc's `malloc.h`."""


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
