"""The files of the journal: one process writes each, every process may read it.

A segment begins with the position up to which it is stored in SQL, a line of fixed length, followed
by one record a line, each appended by one system call. Written records outlive their process. The
writer holds a lock on its segment: one without a lock is complete. Why not SQLite: decision 0013.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

from gateway.storage.event_journal.records import END
from gateway.storage.file_lock import try_lock

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

    def read(self, position: int, most: int) -> bytes:
        """Return at most `most` octets from the position on."""
        return os.pread(self._descriptor, max(0, min(most, self.end - position)), position)

    def note(self, position: int) -> None:
        """Write the position up to which it is stored."""
        os.pwrite(self._descriptor, _head(position), 0)

    def remove(self) -> None:
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
