"""Invalidates the changes of the change log in this process, in case messages were lost.

Messages arrive within milliseconds while Redis works. The log is written in the transaction of the
change, so it also has changes whose publisher could not reach Redis, or died before it published.
Each worker reads new records every `POLL`: one range at the end of a primary key.
An id may become visible after a higher one, since transactions commit in any order: so ids are
read again for `REREAD` after they were first seen.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.storage.change_log import ChangeLogReader

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
        self._seen: dict[int, float] = {}

    async def follow(self) -> None:
        """Read the log until cancelled; an unavailable database is read again later."""
        while True:
            with suppress(StoreUnavailable):
                await self.read()
            await asyncio.sleep(POLL.total_seconds())

    async def read(self) -> None:
        """Deliver what is new since the last time; raises StoreUnavailable."""
        if self._settled is None:
            # No cached entry is older than the records before these.
            self._settled = max(0, await self._log.newest() - _READ_AT_START)
        now = asyncio.get_running_loop().time()
        for change in await self._log.after(self._settled):
            if change.id not in self._seen:
                self._seen[change.id] = now
                self._deliver(change.topics)
        self._settle(now - REREAD.total_seconds())

    def _settle(self, before: float) -> None:
        """Drop the lowest ids that were seen before the instant: they are not read again."""
        for identity in sorted(self._seen):
            if self._seen[identity] > before:
                return
            self._settled = identity
            del self._seen[identity]
