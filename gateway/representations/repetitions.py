"""What a list names more than once: found in one pass, for it may be as long as a body."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

NameT = TypeVar("NameT", bound=Hashable)


def repeated(names: Iterable[NameT]) -> list[NameT]:
    """Return what comes more than once, each once, in the order of its first coming."""
    return [name for name, times in Counter(names).items() if times > 1]
