"""From the journal to SQL: batch after batch, by one process of the machine at a time.

A batch is stored before its position is noted, so one whose process dies in between is stored
again, to no effect. What cannot be read as an event, or stored as one, is passed over and counted.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Final

import structlog

from gateway.domain.errors import InvalidInput
from gateway.domain.events import UserEvent
from gateway.domain.ports.storage import Database
from gateway.storage.event_journal.records import END, LARGEST, read_record
from gateway.storage.event_journal.segments import SegmentReader, segments

BATCH: Final = LARGEST
"""Octets: some two hundred events. Reading more at once would hold up the requests beside it."""
AT_ONCE: Final = 4
"""Batches of one transaction."""
_LOCK: Final = "storing.lock"
_PAUSE: Final = 0.005


class Drain:
    """Stores what stands in the journal of a directory."""

    def __init__(self, directory: Path, database: Database) -> None:
        self._directory = directory
        self._database = database

    async def run(self, *, wait: bool) -> bool:
        """Store all that had been written when it began, by whichever process.

        Where another is at it, wait for one's turn, or return False. Raises StoreUnavailable,
        OSError.
        """
        if not self._directory.exists():
            return True
        async with self._turn(wait=wait) as is_ours:
            if is_ours:
                for path in sorted(segments(self._directory)):
                    await self._store_segment(path)
            return is_ours

    @asynccontextmanager
    async def _turn(self, *, wait: bool) -> AsyncIterator[bool]:
        descriptor = os.open(self._directory / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            is_ours = _try_lock(descriptor)
            while wait and not is_ours:
                await asyncio.sleep(_PAUSE)
                is_ours = _try_lock(descriptor)
            yield is_ours
        finally:
            os.close(descriptor)

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

    async def _add(self, batches: list[list[UserEvent]]) -> None:
        """Store the batches in one transaction, or each event by itself where that is refused."""
        try:
            async with self._database.write() as stores:
                for events in batches:
                    await stores.user_events.add_all(events)
        except InvalidInput as refusal:
            [*events] = chain.from_iterable(batches)
            if len(events) == 1:
                structlog.get_logger().error("event cannot be stored", reason=str(refusal))
                return
            for event in events:
                await self._add([[event]])


async def _read(segment: SegmentReader, position: int) -> tuple[list[list[UserEvent]], int]:
    """Return a few batches from there on, none at the end, and where they end."""
    batches: list[list[UserEvent]] = []
    while len(batches) < AT_ONCE and (chunk := segment.read(position, BATCH)):
        whole = chunk[: chunk.rfind(END) + 1]
        if not whole and len(chunk) < BATCH:
            break  # the rest of a record is being written, or its writer died over it
        lines = (whole or chunk).split(END)
        batches.append([event for line in lines if line for event in _event(line)])
        position += len(whole or chunk)
        await asyncio.sleep(0)  # requests go on
    return batches, position


def _event(line: bytes) -> list[UserEvent]:
    """Return the event, none of what is left of one."""
    event = read_record(line)
    if event is None:
        structlog.get_logger().error("event is unreadable", octets=len(line))
    return [] if event is None else [event]


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
