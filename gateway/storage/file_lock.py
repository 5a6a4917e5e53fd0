"""Locks of files among processes; the system releases those of a process that dies."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

_POLL: Final = 0.005


@asynccontextmanager
async def file_lock(
    path: Path, *, wait: bool = True, limit: float | None = None
) -> AsyncIterator[bool]:
    """Lock the file and yield True, else False without `wait`; TimeoutError after `limit` s."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        async with asyncio.timeout(limit):
            while not (is_ours := try_lock(descriptor)) and wait:  # noqa: ASYNC110 - no awaitable lock
                await asyncio.sleep(_POLL)
        yield is_ours
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file unless another has the lock; return whether it is ours."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
