"""User events on their way to SQL, kept so that the death of no process loses one.

An event is appended to a file before its request is answered, which takes a system call and waits
for no disk. Each second what was written goes to SQL; where SQL is away it is brought to the disk
instead. So a worker or a supervisor that is killed loses nothing, and a power cut what the last
second brought. The next process of this machine stores what another has left behind.

The files hold at most so much: an event beyond it is dropped, and counted. The oldest stay, for
they tell how it began.
"""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from gateway.domain.errors import StoreUnavailable
from gateway.domain.events import UserEvent
from gateway.domain.ports.storage import Database
from gateway.storage.event_journal.draining import Drain
from gateway.storage.event_journal.records import write_record
from gateway.storage.event_journal.segments import SegmentWriter, size_of

LARGEST_SEGMENT: Final = 8 * 1024 * 1024
LARGEST_JOURNAL: Final = 256 * 1024 * 1024
"""Octets: some 800,000 events, and what each worker's last segment may add."""

_INTERVAL: Final = 1.0
_LEFT_BEHIND: Final = 60
"""Every so many intervals a worker looks for what others have left behind."""
_PATIENCE: Final = 10.0
_AT_THE_END: Final = 2.0
_SILENCE: Final = 60.0
"""Seconds between two lines of the log about the same."""


class EventJournal:
    """EventLog on files of `directory`; belongs to one event loop, and to one process."""

    def __init__(
        self,
        directory: Path,
        database: Database,
        *,
        largest_segment: int = LARGEST_SEGMENT,
        largest_journal: int = LARGEST_JOURNAL,
    ) -> None:
        self._directory = directory
        self._drain = Drain(directory, database)
        self._largest_segment = largest_segment
        self._largest_journal = largest_journal
        self._segment: SegmentWriter | None = None
        self._waiting = False
        self._full_until = 0.0
        self._silent_until = 0.0

    def append(self, event: UserEvent) -> bool:
        try:
            segment = self._segment or self._begin()
            segment.append(write_record(event))
        except (OSError, ValueError) as failure:
            self._complain("event dropped", str(failure))
            return False
        self._waiting = True
        if segment.size >= self._largest_segment:
            self._end()
        return True

    async def settle(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._drain.run(wait=True)
        except (OSError, TimeoutError) as failure:
            raise StoreUnavailable("events", reason=str(failure)) from failure

    async def keep(self) -> None:
        """Store what was kept, each second and without an end."""
        turn = 0
        while True:
            if self._waiting or turn == 0:
                await self._store()
            turn = (turn + 1) % _LEFT_BEHIND
            await asyncio.sleep(_INTERVAL)

    async def close(self) -> None:
        """Store what this process has kept, if that is quickly done, and leave the rest."""
        if self._segment is None and not self._waiting:
            return
        self._end()
        try:
            async with asyncio.timeout(_AT_THE_END):
                await self._drain.run(wait=True)
        except (OSError, TimeoutError, StoreUnavailable) as failure:
            structlog.get_logger().warning("events left for the next start", reason=str(failure))

    @property
    def size(self) -> int:
        """How many octets the files of all workers have."""
        return size_of(self._directory)

    async def _store(self) -> None:
        self._waiting = False
        try:
            # Where another is at it, that one may have begun too early for what we have.
            self._waiting |= not await self._drain.run(wait=False)
        except (OSError, StoreUnavailable) as failure:
            self._waiting = True
            self._complain("events left for later", str(failure))
            await self._sync()

    async def _sync(self) -> None:
        segment = self._segment
        if segment is not None:
            with suppress(OSError):  # it may have ended meanwhile, or the disk is ill
                await asyncio.to_thread(segment.sync)

    def _begin(self) -> SegmentWriter:
        now = time.monotonic()
        if now < self._full_until:
            raise OSError("the journal of events is full")
        if self.size >= self._largest_journal:
            self._full_until = now + _INTERVAL
            raise OSError("the journal of events is full")
        self._segment = SegmentWriter(self._directory)
        return self._segment

    def _end(self) -> None:
        segment, self._segment = self._segment, None
        if segment is not None:
            segment.close()

    def _complain(self, what: str, reason: str) -> None:
        now = time.monotonic()
        if now >= self._silent_until:
            self._silent_until = now + _SILENCE
            structlog.get_logger().error(what, reason=reason)
