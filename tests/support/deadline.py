"""Waiting for something to become true, with an end."""

import asyncio
import time
from collections.abc import Awaitable, Callable


async def eventually(condition: Callable[[], bool], within: float = 20.0) -> None:
    """Wait until `condition` holds; fail after `within` seconds."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.005)


async def eventually_succeeds(
    work: Callable[[], Awaitable[None]], failure: type[Exception], within: float = 20.0
) -> None:
    """Repeat `work` until it no longer raises `failure`; fail after `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        try:
            return await work()
        except failure:
            assert time.monotonic() < deadline, "it did not succeed in time"
            await asyncio.sleep(0.02)
