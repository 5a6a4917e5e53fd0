"""A bounded table that drops the least recently used values, or all of one group at once.

Entries and bytes are bounded: administrators and users decide how large a value is.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class GroupedLru(Generic[K, V]):
    """At most `limit` values of at most `most_bytes`; each is in groups that can be dropped.

    The last value is kept, however large it is.
    """

    def __init__(self, limit: int, most_bytes: int) -> None:
        self._limit = limit
        self._most_bytes = most_bytes
        self.bytes = 0
        """The size of all values, as they were put."""
        self._values: OrderedDict[K, tuple[tuple[str, ...], V, int]] = OrderedDict()
        self._groups: defaultdict[str, set[K]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value and count it as used."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[1]

    def put(self, key: K, groups: tuple[str, ...], value: V, size: int) -> None:
        """Store the value of `size` bytes; drop the least recently used ones when full."""
        self.drop(key)
        self._values[key] = (groups, value, size)
        self.bytes += size
        for group in groups:
            self._groups[group].add(key)
        while len(self._values) > self._limit or self._is_too_large():
            self.drop(next(iter(self._values)))

    def _is_too_large(self) -> bool:
        return self.bytes > self._most_bytes and len(self._values) > 1

    def drop(self, key: K) -> None:
        found = self._values.pop(key, None)
        self.bytes -= 0 if found is None else found[2]
        for group in () if found is None else found[0]:
            keys = self._groups[group]
            keys.discard(key)
            if not keys:
                del self._groups[group]

    def drop_group(self, group: str) -> None:
        for key in tuple(self._groups.get(group, ())):
            self.drop(key)

    def clear(self) -> None:
        self.bytes = 0
        self._values.clear()
        self._groups.clear()
