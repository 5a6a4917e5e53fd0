"""Invalidates the changes of the change log in this process, in case messages were lost.

Messages arrive within milliseconds while Redis works. The log is written in the transaction of the
change, so it also has changes whose publisher could not reach Redis, or died before it published.
Each worker reads new records every `POLL`: one range at the end of a primary key.
An id may become visible after a higher one, since transactions commit in any order: so ids are
read again for `REREAD` after they were first seen.
Requests of the admin API do not wait for the next reading: each asks for new records in the query
for the revocation of its token.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.invalidation import ChangeLogReader, RecordedChange
from gateway.domain.ports.lookups import Lookups

POLL: Final = timedelta(seconds=2)
REREAD: Final = timedelta(seconds=30)
"""Longer than the rest of a transaction after it recorded its topics."""
_READ_AT_START: Final = 1_000


class ChangeFollower:
    """Passes the topics of new records to `deliver`, once each. Belongs to one event loop."""

    def __init__(self, log: ChangeLogReader, deliver: Callable[[Sequence[str]], None]) -> None:
        self._log = log
        self._deliver = deliver
        self._settled: int | None = None
        self._without_gap = 0
        self._seen: dict[int, float] = {}

    async def follow(self) -> None:
        """Read the log until cancelled; an unavailable database is read again later."""
        while True:
            with suppress(StoreUnavailable):
                await self.read_changes()
            await asyncio.sleep(POLL.total_seconds())

    async def read_changes(self) -> None:
        """Deliver what is new since the last time; raises StoreUnavailable."""
        if self._settled is None:
            # No cached entry is older than the records before these.
            self._settled = max(0, await self._log.newest() - _READ_AT_START)
            # Until the rest is delivered, and without gaps, none of it counts.
            self._without_gap = self._settled
        self.deliver_changes(await self._log.after(self._settled))
        self._settle(asyncio.get_running_loop().time() - REREAD.total_seconds())

    async def last(self) -> int:
        """Return the id up to which all is delivered, no gap before; raises StoreUnavailable."""
        if self._settled is None:
            await self.read_changes()
        return self._without_gap

    def deliver_changes(self, changes: Iterable[RecordedChange]) -> None:
        """Deliver the topics of those that were not delivered yet."""
        now = asyncio.get_running_loop().time()
        for change in changes:
            if change.id > (self._settled or 0) and change.id not in self._seen:
                self._seen[change.id] = now
                self._deliver(change.topics)
        while self._without_gap + 1 in self._seen:
            self._without_gap += 1

    def _settle(self, before: float) -> None:
        """Drop the lowest ids that were seen before the instant: they are not read again."""
        for identity in sorted(self._seen):
            if self._seen[identity] > before:
                break
            self._settled = identity
            del self._seen[identity]
        self._without_gap = max(self._without_gap, self._settled or 0)
        self.deliver_changes(())


class FollowedRevocations:
    """CurrentRevocations: one query for the revocation and for new records."""

    def __init__(self, lookups: Lookups, follower: ChangeFollower) -> None:
        self._lookups = lookups
        self._follower = follower

    async def is_revoked(self, realm_id: str, *token_ids: str) -> bool:
        after = await self._follower.last()
        state = await self._lookups.token_state(realm_id, token_ids, after)
        self._follower.deliver_changes(state.changes)
        return state.revoked

    async def catch_up(self, realm_id: str) -> None:
        await self.is_revoked(realm_id, "")
