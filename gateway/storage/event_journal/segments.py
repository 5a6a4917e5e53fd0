"""The files of the journal: each is written by one process, and may be read by any.

A segment begins with the position up to which it has been stored, a line of fixed length, and goes
on with one record a line, each appended by one system call. What was written stays written when
the process dies. Its writer holds a lock on it as long as it lives: a segment without one has no
more to come.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

from gateway.storage.event_journal.records import END

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
            # It gets its name with the lock: nobody may take it for one that was left behind.
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
        """Write the line, of which a part may stay where the disk is full."""
        if self._torn:
            line = END + line
        written = os.write(self._descriptor, line)
        self.size += written
        self._torn = written < len(line)
        if self._torn:
            raise OSError("the disk has no room for an event")

    def sync(self) -> None:
        """Bring to the disk what was written."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Leave it to whoever stores events."""
        os.close(self._descriptor)


class SegmentReader:
    """A segment of whichever process. Raises OSError, FileNotFoundError where it has gone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.is_complete = self._lock()
        """Whether nothing will be written to it any more."""
        self.end = os.fstat(self._descriptor).st_size
        """How far it had been written when it was opened."""

    @property
    def position(self) -> int:
        """How far it has been stored; where it says nothing that can be, nothing has been."""
        text = os.pread(self._descriptor, _DIGITS, 0)
        noted = int(text) if len(text) == _DIGITS and text.isdigit() else 0
        return noted if _HEAD <= noted <= self.end else _HEAD

    def read(self, position: int, most: int) -> bytes:
        """Return what was written from there on, at most so much."""
        return os.pread(self._descriptor, max(0, min(most, self.end - position)), position)

    def note(self, position: int) -> None:
        """Note how far it has been stored."""
        os.pwrite(self._descriptor, _head(position), 0)

    def remove(self) -> None:
        """Remove it, once all of it has been stored."""
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)

    def _lock(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def segments(directory: Path) -> Iterator[Path]:
    """Return the segments of all processes."""
    return directory.glob(f"*{_SUFFIX}")


def size_of(directory: Path) -> int:
    """Return how many octets all segments have."""
    return sum(_size(path) for path in segments(directory))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _head(position: int) -> bytes:
    return f"{position:0{_DIGITS}d}".encode() + END
