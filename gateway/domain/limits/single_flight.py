"""One task for all callers that request the same value at the same time."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Tasks in progress by key. A task continues when its waiting callers are cancelled."""

    def __init__(self) -> None:
        self._current: dict[K, asyncio.Task[V]] = {}
        self._running: set[asyncio.Task[V]] = set()

    def start(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> asyncio.Task[V]:
        """Join the work in progress for `key`, or begin it."""
        task = self._current.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._current[key] = task
            self._running.add(task)
            task.add_done_callback(lambda done: self._finish(key, done))
        return task

    async def run(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Return what the work for `key` gives, or raise what it raises."""
        return await asyncio.shield(self.start(key, work))

    def clear(self) -> None:
        """Start new tasks from now on: those in progress began before a change."""
        self._current.clear()

    def _finish(self, key: K, task: asyncio.Task[V]) -> None:
        self._running.discard(task)
        if self._current.get(key) is task:
            del self._current[key]
        if not task.cancelled():
            task.exception()  # retrieved, even if no caller waits any more
