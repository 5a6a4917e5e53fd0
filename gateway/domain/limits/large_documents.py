"""How the interpreter works while a large document is in memory.

A collection of all generations looks at every object, and one document may have millions of them:
it would hold the interpreter lock for a tenth of a second and more. Collections of the young
generations go on; they look at a bounded number of objects.
"""

import gc
import sys
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LARGE_DOCUMENT: Final = 256 * 1024
"""In bytes; a smaller one is handled within a few slices of the event loop."""
_NEVER: Final = 2**31 - 1
_SWITCH_INTERVAL: Final = 0.001
"""Seconds after which a thread that works on the document yields to the event loop."""


class _Interpreter:
    """Settings of the interpreter, which are those of the process."""

    def __init__(self) -> None:
        self._documents = 0
        self._thresholds = gc.get_threshold()
        self._switch_interval = sys.getswitchinterval()

    def begin(self) -> None:
        if self._documents == 0:
            self._thresholds = gc.get_threshold()
            self._switch_interval = sys.getswitchinterval()
            gc.set_threshold(*self._thresholds[:2], _NEVER)
            sys.setswitchinterval(_SWITCH_INTERVAL)
        self._documents += 1

    def end(self) -> None:
        self._documents -= 1
        if self._documents == 0:
            gc.set_threshold(*self._thresholds)
            sys.setswitchinterval(self._switch_interval)


_INTERPRETER: Final = _Interpreter()


@contextmanager
def large_document() -> Iterator[None]:
    """Postpone full collections, and shorten the turns of threads, until the block ends.

    Call it on the event loop. Blocks may overlap.
    """
    _INTERPRETER.begin()
    try:
        yield
    finally:
        _INTERPRETER.end()


def freed(values: list[object]) -> Iterator[None]:
    """Empty the list, and free one container at a time; yield after each of them.

    A container that goes out of scope frees all below it at once, which takes a third of a second
    for 32 MiB of JSON. Here each one is freed while its members are still referred to. What
    something else refers to stays as it is.
    """
    waiting = deque(values)
    values.clear()
    while waiting:
        value = waiting.popleft()
        if isinstance(value, dict):
            waiting.extend(member for member in value.values() if isinstance(member, dict | list))
        elif isinstance(value, list):
            waiting.extend(item for item in value if isinstance(item, dict | list))
        del value
        yield


def clear_locals(failure: BaseException | None) -> None:
    """Drop the local variables of ended calls, which a failure's tracebacks keep alive."""
    seen: set[int] = set()
    while failure is not None and id(failure) not in seen:
        seen.add(id(failure))
        traceback.clear_frames(failure.__traceback__)
        failure = failure.__cause__ or failure.__context__
