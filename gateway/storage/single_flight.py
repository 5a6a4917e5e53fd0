"""One piece of work for all who ask for the same thing at the same time."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Work in progress by key. It goes on when those who wait for it give up."""

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

    def forget(self) -> None:
        """Let nobody else join what is in progress, for it began before something changed."""
        self._current.clear()

    def _finish(self, key: K, task: asyncio.Task[V]) -> None:
        self._running.discard(task)
        if self._current.get(key) is task:
            del self._current[key]
        if not task.cancelled():
            task.exception()  # seen, even where nobody waits any more
