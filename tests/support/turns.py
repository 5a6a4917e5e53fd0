"""How often other work has its turn while something is awaited."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def with_turns(awaited: Awaitable[T]) -> tuple[T, int]:
    """Return the result, and how many turns another task had meanwhile."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await asyncio.sleep(0)
    before = turns
    result = await awaited
    counting.cancel()
    return result, turns - before
