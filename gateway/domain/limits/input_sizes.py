"""Limits of documents, keys, scopes and loops, and of the time that they hold the event loop.

Sizes of keys, certificates and archives are checked on the encoding before the library is called:
it would hold Python's interpreter lock while it computes, so that no thread can do the work aside.

A collection of all generations looks at every object, and one large document may have millions of
them: it would hold the interpreter lock for a tenth of a second and more. Collections of the young
generations go on; they look at a bounded number of objects.

A realm may have any number of clients, users and roles, and each of them takes its time to read
from a row or to write into a document. Loops over them pause, so that other requests go on.
Spec: RFC 8017 §3 (RSA), RFC 7292 §4, §B (PKCS#12), RFC 8018 §5.2 (PBKDF2); RFC 6749 §3.3; CWE-770
"""

import asyncio
import gc
import sys
import traceback
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Final, TypeVar

MIN_RSA_BITS: Final = 2048
MAX_RSA_PUBLIC_BITS: Final = 8192
"""A verification takes less than a millisecond."""
MAX_RSA_PRIVATE_BITS: Final = 4096
"""A signature takes 2 ms, the checks of an imported key 0.2 s, none of them 50 ms at a time."""
MAX_RSA_EXPONENT_BITS: Final = 64
"""OpenSSL's own limit for long keys: verifying costs a multiplication for each bit."""
MAX_EC_POINT_BYTES: Final = 256
"""Of an encoded point, or of one coordinate in a JWK; P-521 takes 133 and 66."""

MAX_CERTIFICATE_BYTES: Final = 64 * 1024
MAX_DOCUMENT_BYTES: Final = 1024 * 1024
"""Of an uploaded PEM document, key set or archive."""
MAX_KEYS_IN_SET: Final = 100

MAX_ARCHIVE_ITERATIONS: Final = 300_000
"""Of all key derivations of a PKCS#12 archive together: about 0.3 s in a thread.

OpenSSL writes archives with 2 x 2,048, Java with 2 x 10,000, older Java with 150,000.
"""
MAX_ARCHIVE_CONTENTS: Final = 10
MAX_ARCHIVE_BAGS: Final = 100
MAX_SALT_BYTES: Final = 1024

MAX_WAITING_KEY_JOBS: Final = 8
"""Keys of one realm that may wait for being generated or parsed, in one worker process."""


class LimitExceeded(ValueError):
    """A document asks for more than its limit; `str()` says which and is public."""


def require_at_most(given: int, limit: int, what: str) -> None:
    """Raise LimitExceeded where `given` is above `limit`; `what` is the unit, in words."""
    if given > limit:
        raise LimitExceeded(f"{what}: {_shown(given)} given, at most {limit} are allowed")


def _shown(number: int) -> str:
    """Return the number; one that is too long to be written in decimal is rounded down."""
    bits = number.bit_length()
    return str(number) if bits <= 64 else f"more than 2^{bits - 1}"  # noqa: PLR2004 - a long word


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
    """Postpone full collections and shorten the turns of threads; on the event loop, nestable."""
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


LONGEST_SCOPE: Final = 4_000
"""Characters of the parameter."""
MOST_SCOPE_NAMES: Final = 200
"""Names in it, repeats included."""
PREPARED_BYTES: Final = 2 * 1024 * 1024
"""Memory of a worker for combinations of scopes that are kept prepared, of all realms together."""


def scope_excess(text: str) -> str | None:
    """Return what is too large about a `scope` parameter, None where nothing is."""
    if len(text) > LONGEST_SCOPE:
        return f"longer than {LONGEST_SCOPE} characters"
    if text.count(" ") >= MOST_SCOPE_NAMES:
        return f"more than {MOST_SCOPE_NAMES} names"
    return None
