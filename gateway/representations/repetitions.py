"""What a list names more than once: found in one pass, for it may be as long as a body."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from gateway.domain.errors import RepeatedName
from gateway.representations.refusals import describe

NameT = TypeVar("NameT", bound=Hashable)


def repeated(names: Iterable[NameT]) -> list[NameT]:
    """Return what comes more than once, each once, in the order of its first coming."""
    return [name for name, times in Counter(names).items() if times > 1]


def repeated_names(names: Iterable[str], path: str, allowed: str) -> Iterator[RepeatedName]:
    """Yield an error for each name that comes more than once, in the order of the names."""
    for name in sorted(repeated(names)):
        yield RepeatedName(path, f"{describe(name)} twice", allowed)
