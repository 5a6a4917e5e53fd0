"""The changes, for workers that missed an invalidation message."""

from collections.abc import Sequence
from typing import Protocol

from gateway.domain.ports.invalidation import RecordedChange


class ChangeLog(Protocol):
    """Writes in the transaction of the change."""

    async def record(self, topics: Sequence[str]) -> None:
        """Record the topics; no topics, no record."""

    async def purge(self) -> int:
        """Delete all but the newest records; return how many."""


class ChangeLogReader(Protocol):
    """Reads by one indexed query each. Both methods raise StoreUnavailable."""

    async def newest(self) -> int:
        """Return the highest id, 0 without one."""

    async def after(self, identity: int) -> Sequence[RecordedChange]:
        """Return the changes with higher ids, in their order."""
