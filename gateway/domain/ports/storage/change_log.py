"""What has changed, for workers that a message about it did not reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One change. Ids grow in the order in which they are given out, not of the commits."""

    id: int
    topics: tuple[str, ...]


class ChangeLog(Protocol):
    """Writes within the transaction of the change."""

    async def record(self, topics: Sequence[str]) -> None:
        """Record the topics; none is no record."""

    async def purge(self) -> int:
        """Delete all but the newest records; return how many."""


class ChangeLogReader(Protocol):
    """Reads, each time one indexed question. Both methods raise StoreUnavailable."""

    async def newest(self) -> int:
        """Return the highest id, 0 without one."""

    async def after(self, identity: int) -> Sequence[RecordedChange]:
        """Return the changes with higher ids, in their order."""
