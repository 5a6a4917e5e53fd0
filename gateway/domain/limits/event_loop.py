"""How long one loop over many items may hold the event loop.

A realm may have any number of clients, users and roles, and each of them takes its time to read
from a row or to write into a document. Loops over them pause, so that other requests go on.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack
from time import monotonic
from typing import Final, TypeVar

from gateway.domain.limits.large_documents import freed, large_document

T = TypeVar("T")

LONGEST_SLICE: Final = 0.01
"""Seconds that a loop may work before other requests have their turn."""


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield the items; let other requests go on whenever a slice of time has been used."""
    end = monotonic() + LONGEST_SLICE
    with ExitStack() as held:
        many = False
        for item in items:
            yield item
            if monotonic() >= end:
                if not many:
                    many = True
                    held.enter_context(large_document())
                await asyncio.sleep(0)
                end = monotonic() + LONGEST_SLICE


async def free_in_slices(values: list[object]) -> None:
    """Empty the list; values that nothing else refers to are freed a slice at a time."""
    async for _ in in_slices(freed(values)):
        pass
