"""Caches of values that are derived from input, bounded in bytes; one task for equal requests.

A cache that only counts its entries has no bound where a caller chooses how large each one is.
Every cache whose keys or values come from requests, or from what administrators store, is one of
these; a test lists the exceptions. CWE-770
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Hashable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, timedelta
from functools import update_wrapper
from typing import Any, Final, Generic, ParamSpec, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
P = ParamSpec("P")
T = TypeVar("T")

_ENTRY: Final = 200
"""Bytes that an entry takes besides its key and its value: its share of two hash tables."""
_LARGEST_SHARE: Final = 8
"""One entry may take this part of a generation, so that it cannot push out all the others."""
_OPAQUE: Final = 4096
"""Bytes assumed for an object that cannot be looked into, such as a parsed key."""
_ATOMS: Final = (str, bytes, int, float, date, timedelta)


class SizedCache(Generic[K, V]):
    """Keeps the values used last, of at most `most_bytes` as `weigh` counts them.

    There are two generations. A value that is found in the older one moves to the younger one;
    when the younger one is full it becomes the older one, whose unused values are dropped.
    A hit costs one look into a dictionary. None cannot be a value.
    """

    __slots__ = ("_half", "_older", "_older_bytes", "_weigh", "_young", "_young_bytes")

    def __init__(self, most_bytes: int, weigh: Callable[[K, V], int] | None = None) -> None:
        """Weigh entries with `weigh(key, value)` in bytes; by default with `size_of`."""
        self._half = most_bytes // 2
        self._weigh = weigh or _size_of_both
        self._young: dict[K, V] = {}
        self._older: dict[K, V] = {}
        self._young_bytes = 0
        self._older_bytes = 0

    def __len__(self) -> int:
        return len(self._young) + len(self._older.keys() - self._young.keys())

    @property
    def bytes(self) -> int:
        """The weight of all entries; never more than `most_bytes`."""
        return self._young_bytes + self._older_bytes

    def get(self, key: K) -> V | None:
        """Return the value and count it as used."""
        found = self._young.get(key)
        if found is None and self._older:
            found = self._older.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: K, value: V) -> None:
        """Keep the value, unless it is too large to be kept."""
        weight = _ENTRY + self._weigh(key, value)
        if weight * _LARGEST_SHARE > self._half:
            self.drop(key)
            return
        if key in self._young:
            self.drop(key)
        if self._young_bytes + weight > self._half:
            self._older, self._older_bytes = self._young, self._young_bytes
            self._young, self._young_bytes = {}, 0
        self._young[key] = value
        self._young_bytes += weight

    def clear(self) -> None:
        self._young, self._older = {}, {}
        self._young_bytes = self._older_bytes = 0

    def drop(self, key: K) -> None:
        """Drop what is kept under the key: an older value must not come back."""
        older, young = self._older.pop(key, None), self._young.pop(key, None)
        self._older_bytes -= 0 if older is None else _ENTRY + self._weigh(key, older)
        self._young_bytes -= 0 if young is None else _ENTRY + self._weigh(key, young)


def cached(most_bytes: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that keeps results of a pure function; arguments must be hashable."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        results: SizedCache[Any, tuple[T]] = SizedCache(most_bytes)

        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            key = (args, tuple(kwargs.items())) if kwargs else args
            # Nearly every value is in the younger generation: found without another call.
            found = results._young.get(key) or results.get(key)  # noqa: SLF001 - the same module
            if found is None:
                found = (function(*args, **kwargs),)
                results.put(key, found)
            return found[0]

        update_wrapper(call, function)
        return call

    return decorate


def size_of(value: object) -> int:
    """Return about how many bytes a value keeps alive, each object once, also in dataclasses."""
    total = 0
    seen: set[int] = set()
    open_ones = [value]
    while open_ones:
        one = open_ones.pop()
        if one is None or isinstance(one, bool | type) or callable(one) or id(one) in seen:
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        if isinstance(one, _ATOMS):
            continue
        parts = _parts(one)
        if parts is None:
            total += _OPAQUE
        else:
            open_ones.extend(parts)
    return total


def _parts(value: object) -> list[object] | None:
    """Return what a value alone refers to, without defaults of its class; None if unknown."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if is_dataclass(value):
        found = ((getattr(value, item.name, None), item) for item in fields(value))
        return [part for part, item in found if part is not _default_of(item)]
    return None


def _default_of(item: Field[Any]) -> object:
    """Return the default of a field; that of a factory counts where it is the same each time."""
    return item.default if item.default_factory is MISSING else item.default_factory()


def _size_of_both(key: object, value: object) -> int:
    return size_of((key, value))


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
