"""User events on their way to SQL: the crash of a process loses none.

An event is appended to a file before its request is answered, by a system call that does not wait
for the disk. Each second the new events go to SQL; while SQL is unavailable the file is flushed
instead. So `kill -9` of a worker or supervisor loses nothing, and a power cut loses one second.
Another process of this machine stores the events of a dead process. The size of the files is
bounded: further events are dropped, and counted. The oldest are kept, because they show how an
incident began.

A segment is written by one process, which holds a lock on it, and read by all: a line of fixed
length with the position up to which it is stored in SQL, then one JSON array a line. A line without
its end was cut off when its writer died or the disk was full. A batch is stored before its position
is written, so a batch whose process dies in between is stored again, to no effect. Records that are
unreadable, or that SQL refuses, are skipped and logged. Why not SQLite: decision 0013.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final
from uuid import uuid4

import orjson
import structlog

from gateway.domain.clock import instant_of, microseconds_of
from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.events import EventType, LoggedEvent, UserEvent
from gateway.domain.ports.events import EventQueues
from gateway.domain.ports.storage import Database
from gateway.storage.file_lock import file_lock, try_lock

END: Final = b"\n"
LARGEST: Final = 64 * 1024
"""Octets of a line: longer lines are no records."""
_MEMBERS: Final = 10


def write_record(logged: LoggedEvent) -> bytes:
    """Return the line; raises ValueError for text that is not Unicode, or too long."""
    event = logged.event
    members: tuple[object, ...] = (
        event.id,
        event.realm_id,
        microseconds_of(event.time),
        event.kind,
        event.client_id,
        event.user_id,
        event.session_id,
        event.ip_address,
        event.error,
        event.details,
    )
    if logged.listeners or not logged.is_stored:
        members = (*members, (logged.is_stored, *logged.listeners))
    try:
        line = orjson.dumps(members, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise ValueError("an event with text that is not Unicode") from error
    if len(line) > LARGEST:
        raise ValueError("an event that is too long")
    return line


def read_record(line: bytes) -> LoggedEvent | None:
    """Return the event; None for an invalid line."""
    try:
        members = orjson.loads(line)
        if not isinstance(members, list):
            return None
        event_id, realm_id, microseconds, kind, *names, details = members[:_MEMBERS]
        client_id, user_id, session_id, ip_address, error = names
        is_stored, *listeners = members[_MEMBERS] if len(members) > _MEMBERS else (True,)
        _require_texts(event_id, realm_id, *details.keys(), *details.values(), *listeners)
        _require_texts(*(name for name in names if name is not None))
        if type(microseconds) is not int:
            return None
        event = UserEvent(
            id=event_id,
            realm_id=realm_id,
            time=instant_of(microseconds),
            kind=EventType(kind),
            client_id=client_id,
            user_id=user_id,
            session_id=session_id,
            ip_address=ip_address,
            error=error,
            details=details,
        )
        return LoggedEvent(event, is_stored is True, tuple(listeners))
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return None


def _require_texts(*members: object) -> None:
    if not all(isinstance(member, str) for member in members):
        raise TypeError("a member that is not text")


_SUFFIX: Final = ".events"
_UNFINISHED: Final = ".new"
_DIGITS: Final = 20
_HEAD: Final = _DIGITS + len(END)
_OURS_ALONE: Final = 0o600
_DIRECTORY: Final = 0o700


class SegmentWriter:
    """A new segment, locked until it is closed or its process has died. Raises OSError."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=_DIRECTORY, parents=True, exist_ok=True)
        path = directory / f"{os.getpid()}-{uuid4().hex}{_SUFFIX}"
        unfinished = path.with_suffix(_UNFINISHED)
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(unfinished, flags, _OURS_ALONE)
        try:
            # Lock it, then rename it: an unlocked segment counts as complete.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            self._torn = False
            self.size = 0
            self.append(_head(_HEAD))
            unfinished.rename(path)
        except OSError:
            os.close(self._descriptor)
            unfinished.unlink(missing_ok=True)
            raise

    def append(self, line: bytes) -> None:
        """Write the line; on a full disk a part of it may stay. Raises OSError."""
        if self._torn:
            line = END + line
        written = os.write(self._descriptor, line)
        self.size += written
        self._torn = written < len(line)
        if self._torn:
            raise OSError("the disk has no room for an event")

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class SegmentReader:
    """A segment of any process. Raises OSError, FileNotFoundError where it was removed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.is_complete = try_lock(self._descriptor)
        """Whether its writer has ended."""
        self.end = os.fstat(self._descriptor).st_size
        """Its length when it was opened."""

    @property
    def position(self) -> int:
        """The end of what is stored in SQL; the first record where the position is invalid."""
        text = os.pread(self._descriptor, _DIGITS, 0)
        noted = int(text) if len(text) == _DIGITS and text.isdigit() else 0
        return noted if _HEAD <= noted <= self.end else _HEAD

    def read_octets(self, position: int, most: int) -> bytes:
        """Return at most `most` octets from the position on."""
        return os.pread(self._descriptor, max(0, min(most, self.end - position)), position)

    def note(self, position: int) -> None:
        """Write the position up to which it is stored."""
        os.pwrite(self._descriptor, _head(position), 0)

    def remove_segment(self) -> None:
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._descriptor)


def segments(directory: Path) -> Iterator[Path]:
    """Return the segments of all processes."""
    return directory.glob(f"*{_SUFFIX}")


def size_of(directory: Path) -> int:
    """Return the size of all segments in octets."""
    return sum(_size(path) for path in segments(directory))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _head(position: int) -> bytes:
    return f"{position:0{_DIGITS}d}".encode() + END


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

        While another process stores events, it waits with `wait`, or returns False. Raises
        StoreUnavailable, OSError.
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
            await self._store_batches(segment)
        finally:
            segment.close()

    async def _store_batches(self, segment: SegmentReader) -> None:
        position = segment.position
        while True:
            batches, position = await _read_batches(segment, position)
            if not batches:
                break
            await self._add_batches(batches)
            segment.note(position)
        if segment.is_complete:
            segment.remove_segment()

    async def _add_batches(self, batches: list[list[LoggedEvent]]) -> None:
        """Store the batches and what listeners queue in one transaction, or each event alone."""
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
                await self._add_batches([[logged]])


async def _read_batches(
    segment: SegmentReader, position: int
) -> tuple[list[list[LoggedEvent]], int]:
    """Return a few batches from the position on, none at the end, and where they end."""
    batches: list[list[LoggedEvent]] = []
    while len(batches) < AT_ONCE and (chunk := segment.read_octets(position, BATCH)):
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
            segment = self._segment or self._begin_segment()
            segment.append(write_record(LoggedEvent(event, is_stored, listeners)))
        except (OSError, ValueError) as failure:
            self._log_failure("event dropped", str(failure))
            return False
        self._pending = True
        if segment.size >= self._largest_segment:
            self._end_segment()
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
                await self._store_pending()
            turn = (turn + 1) % _LEFT_BEHIND
            await asyncio.sleep(_INTERVAL)

    async def close(self) -> None:
        """Store the events of this process, as far as the time limit allows."""
        if self._segment is None and not self._pending:
            return
        self._end_segment()
        try:
            async with asyncio.timeout(_TIMEOUT_AT_END):
                await self._drain.run(wait=True)
        except (OSError, TimeoutError, StoreUnavailable) as failure:
            structlog.get_logger().warning("events left for the next start", reason=str(failure))

    @property
    def size(self) -> int:
        """The size of the files of all workers, in octets."""
        return size_of(self._directory)

    async def _store_pending(self) -> None:
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

    def _begin_segment(self) -> SegmentWriter:
        now = time.monotonic()
        if now < self._full_until:
            raise OSError("the journal of events is full")
        if self.size >= self._largest_journal:
            self._full_until = now + _INTERVAL
            raise OSError("the journal of events is full")
        self._segment = SegmentWriter(self._directory)
        return self._segment

    def _end_segment(self) -> None:
        segment, self._segment = self._segment, None
        if segment is not None:
            segment.close()

    def _log_failure(self, what: str, reason: str) -> None:
        now = time.monotonic()
        if now >= self._log_again_at:
            self._log_again_at = now + _LOG_PAUSE
            structlog.get_logger().error(what, reason=reason)
