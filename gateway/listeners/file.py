"""`file`: appends each event to a file, as one line of JSON, for a SIEM.

Every worker writes whole lines: one system call that appends. A file that was renamed or removed,
as by logrotate, is re-created with the next event.
"""

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Final

from structlog.typing import FilteringBoundLogger

from gateway.domain.events import UserEvent
from gateway.domain.realm import Realm
from gateway.listeners.event_json import event_json
from gateway.listeners.listener import ListenerOptions

NAME: Final = "file"
_END: Final = b"\n"
_MODE: Final = 0o640
_LOG_PAUSE: Final = timedelta(minutes=1)
"""Between two log lines about a file that cannot be written."""


class FileListener:
    """Writes to the file of the operator."""

    def __init__(self, path: Path, log: FilteringBoundLogger) -> None:
        self._file = _AppendedFile(path)
        self._log = log
        self._log_again_at = 0.0

    def wants(self, _realm: Realm, _name: str, *, failed: bool) -> bool:
        del failed
        return True

    def on_event(self, realm: Realm, event: UserEvent) -> None:
        try:
            self._file.append(event_json(realm.name, event) + _END)
        except OSError as failure:
            self._log_failure(failure)

    def _log_failure(self, failure: OSError) -> None:
        now = time.monotonic()
        if now >= self._log_again_at:
            self._log_again_at = now + _LOG_PAUSE.total_seconds()
            self._log.error("events not written to the file", reason=str(failure))


def file_listener(options: ListenerOptions) -> FileListener | None:
    """Return the listener, None where the operator names no file."""
    return None if options.events_file is None else FileListener(options.events_file, options.log)


def check_events_file(path: Path) -> None:
    """Raise OSError for a file that events cannot be appended to."""
    os.close(_open(path))


class _AppendedFile:
    """A file that several processes append to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._identity = (0, 0)
        self._is_torn = False

    def append(self, line: bytes) -> None:
        """Write the line; on a full disk a part of it may stay. Raises OSError."""
        descriptor = self._opened()
        if self._is_torn:
            line = _END + line
        self._is_torn = os.write(descriptor, line) < len(line)
        if self._is_torn:
            raise OSError("the disk has no room for an event")

    def _opened(self) -> int:
        if self._descriptor is not None and self._identity == _identity(self._path):
            return self._descriptor
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._descriptor = _open(self._path)
        found = os.fstat(self._descriptor)
        self._identity = (found.st_dev, found.st_ino)
        self._is_torn = False
        return self._descriptor


def _open(path: Path) -> int:
    # Without waiting: a pipe that nothing reads must not stop a worker.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    return os.open(path, flags, _MODE)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return (found.st_dev, found.st_ino)
