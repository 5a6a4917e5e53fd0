"""A bounded table that forgets what was not used for longest, or all of one group at once."""

from collections import OrderedDict, defaultdict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class GroupedLru(Generic[K, V]):
    """At most `limit` values; each is in groups that can be dropped without a scan."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[K, tuple[tuple[str, ...], V]] = OrderedDict()
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

    def put(self, key: K, groups: tuple[str, ...], value: V) -> None:
        """Keep the value; forget the least recently used one when full."""
        self.drop(key)
        self._values[key] = (groups, value)
        for group in groups:
            self._groups[group].add(key)
        if len(self._values) > self._limit:
            self.drop(next(iter(self._values)))

    def drop(self, key: K) -> None:
        """Forget one value."""
        found = self._values.pop(key, None)
        for group in () if found is None else found[0]:
            keys = self._groups[group]
            keys.discard(key)
            if not keys:
                del self._groups[group]

    def drop_group(self, group: str) -> None:
        """Forget every value of the group."""
        for key in tuple(self._groups.get(group, ())):
            self.drop(key)

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()
        self._groups.clear()
