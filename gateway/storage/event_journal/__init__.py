"""User events on their way to SQL: the crash of a process loses none.

An event is appended to a file before its request is answered, by a system call that does not wait
for the disk. Each second the new events go to SQL; while SQL is unavailable the file is flushed
instead. So `kill -9` of a worker or supervisor loses nothing, and a power cut loses one second.
Another process of this machine stores the events of one that died.

The size of the files is bounded: further events are dropped, and counted. The oldest are kept,
because they show how an incident began.
"""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from gateway.domain.errors import StoreUnavailable
from gateway.domain.events import LoggedEvent, UserEvent
from gateway.domain.ports.events import EventQueues
from gateway.domain.ports.storage import Database
from gateway.storage.event_journal.draining import Drain
from gateway.storage.event_journal.records import write_record
from gateway.storage.event_journal.segments import SegmentWriter, size_of

LARGEST_SEGMENT: Final = 8 * 1024 * 1024
LARGEST_JOURNAL: Final = 256 * 1024 * 1024
"""Octets: some 800,000 events, without the last segment of each worker."""

_INTERVAL: Final = 1.0
_LEFT_BEHIND: Final = 60
"""Intervals between two searches for events of processes that died."""
_TIMEOUT: Final = 10.0
_TIMEOUT_AT_END: Final = 2.0
_LOG_PAUSE: Final = 60.0
"""Seconds between two log lines of the same kind."""


class EventJournal:
    """EventLog on files of `directory`; belongs to one event loop, and to one process.

    `queues` are the listeners that queue something of events, in the transaction that stores them.
    """

    def __init__(
        self,
        directory: Path,
        database: Database,
        queues: EventQueues | None = None,
        *,
        largest_segment: int = LARGEST_SEGMENT,
        largest_journal: int = LARGEST_JOURNAL,
    ) -> None:
        self._directory = directory
        self._drain = Drain(directory, database, queues)
        self._largest_segment = largest_segment
        self._largest_journal = largest_journal
        self._segment: SegmentWriter | None = None
        self._pending = False
        self._full_until = 0.0
        self._log_again_at = 0.0

    def append(
        self, event: UserEvent, *, is_stored: bool = True, listeners: tuple[str, ...] = ()
    ) -> bool:
        try:
            segment = self._segment or self._begin()
            segment.append(write_record(LoggedEvent(event, is_stored, listeners)))
        except (OSError, ValueError) as failure:
            self._log_failure("event dropped", str(failure))
            return False
        self._pending = True
        if segment.size >= self._largest_segment:
            self._end()
        return True

    async def settle(self) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT):
                await self._drain.run(wait=True)
        except (OSError, TimeoutError) as failure:
            raise StoreUnavailable("events", reason=str(failure)) from failure

    async def run(self) -> None:
        """Store new events in SQL, each second, until cancelled."""
        turn = 0
        while True:
            if self._pending or turn == 0:
                await self._store()
            turn = (turn + 1) % _LEFT_BEHIND
            await asyncio.sleep(_INTERVAL)

    async def close(self) -> None:
        """Store the events of this process, as far as the time limit allows."""
        if self._segment is None and not self._pending:
            return
        self._end()
        try:
            async with asyncio.timeout(_TIMEOUT_AT_END):
                await self._drain.run(wait=True)
        except (OSError, TimeoutError, StoreUnavailable) as failure:
            structlog.get_logger().warning("events left for the next start", reason=str(failure))

    @property
    def size(self) -> int:
        """The size of the files of all workers, in octets."""
        return size_of(self._directory)

    async def _store(self) -> None:
        self._pending = False
        try:
            # Another process that stores now may have begun before our last event.
            self._pending |= not await self._drain.run(wait=False)
        except (OSError, StoreUnavailable) as failure:
            self._pending = True
            self._log_failure("events left for later", str(failure))
            await self._sync()

    async def _sync(self) -> None:
        segment = self._segment
        if segment is not None:
            with suppress(OSError):  # the segment may be closed by now, or the disk fails
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

    def _log_failure(self, what: str, reason: str) -> None:
        now = time.monotonic()
        if now >= self._log_again_at:
            self._log_again_at = now + _LOG_PAUSE
            structlog.get_logger().error(what, reason=reason)
