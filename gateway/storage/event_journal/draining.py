"""From the journal to SQL: batch after batch, by one process of the machine at a time.

A batch is stored before its position is written, so a batch whose process dies in between is stored
again, to no effect. Records that are unreadable, or that SQL refuses, are skipped and logged.
"""

import asyncio
from itertools import chain
from pathlib import Path
from typing import Final

import structlog

from gateway.domain.errors import InvalidInput
from gateway.domain.events import LoggedEvent
from gateway.domain.ports.events import EventQueues
from gateway.domain.ports.storage import Database
from gateway.storage.event_journal.records import END, LARGEST, read_record
from gateway.storage.event_journal.segments import SegmentReader, segments
from gateway.storage.file_lock import file_lock

BATCH: Final = LARGEST
"""Octets: some two hundred events. Reading more at once would delay requests."""
AT_ONCE: Final = 4
"""Batches of one transaction."""
_LOCK: Final = "storing.lock"


class Drain:
    """Stores the events in the journal of a directory."""

    def __init__(
        self, directory: Path, database: Database, queues: EventQueues | None = None
    ) -> None:
        self._directory = directory
        self._database = database
        self._queues = queues

    async def run(self, *, wait: bool) -> bool:
        """Store all events that any process had written when it began.

        While another process stores events, wait for it, or return False. Raises StoreUnavailable,
        OSError.
        """
        if not self._directory.exists():
            return True
        async with file_lock(self._directory / _LOCK, wait=wait) as is_ours:
            if is_ours:
                for path in sorted(segments(self._directory)):
                    await self._store_segment(path)
            return is_ours

    async def _store_segment(self, path: Path) -> None:
        try:
            segment = SegmentReader(path)
        except FileNotFoundError:
            return
        try:
            await self._store(segment)
        finally:
            segment.close()

    async def _store(self, segment: SegmentReader) -> None:
        position = segment.position
        while True:
            batches, position = await _read(segment, position)
            if not batches:
                break
            await self._add(batches)
            segment.note(position)
        if segment.is_complete:
            segment.remove()

    async def _add(self, batches: list[list[LoggedEvent]]) -> None:
        """Store the batches in one transaction, or each event in its own where SQL refuses one.

        The mails and the like that listeners make of events are rows of the same transaction.
        """
        every = list(chain.from_iterable(batches))
        queued = [logged for logged in every if logged.listeners]
        try:
            async with self._database.write() as stores:
                for batch in batches:
                    stored = [logged.event for logged in batch if logged.is_stored]
                    await stores.user_events.add_all(stored)
                if queued and self._queues is not None:
                    await self._queues.queue(stores, queued)
        except InvalidInput as error:
            if len(every) == 1:
                structlog.get_logger().error("event cannot be stored", reason=str(error))
                return
            for logged in every:
                await self._add([[logged]])


async def _read(segment: SegmentReader, position: int) -> tuple[list[list[LoggedEvent]], int]:
    """Return a few batches from the position on, none at the end, and where they end."""
    batches: list[list[LoggedEvent]] = []
    while len(batches) < AT_ONCE and (chunk := segment.read(position, BATCH)):
        whole = chunk[: chunk.rfind(END) + 1]
        if not whole and len(chunk) < BATCH:
            break  # a record is being written, or its writer died meanwhile
        lines = (whole or chunk).split(END)
        batches.append([logged for line in lines if line for logged in _event(line)])
        position += len(whole or chunk)
        await asyncio.sleep(0)  # other requests run
    return batches, position


def _event(line: bytes) -> list[LoggedEvent]:
    """Return the event, nothing for an unreadable line."""
    logged = read_record(line)
    if logged is None:
        structlog.get_logger().error("event is unreadable", octets=len(line))
    return [] if logged is None else [logged]
