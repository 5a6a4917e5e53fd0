"""A file that is replaced while the gateway runs: by rename, in place or behind a symbolic link.

Compared is the file that the path resolves to now, so a switched link (Kubernetes: `..data`) and a
replaced folder count as well. The time of the last change of the inode cannot be set, so a
time set back hides nothing. Times have the granularity of the kernel's clock, so a file written a
moment ago is compared by content. The gateway must be given the folder of the file: a bind mount of
one file keeps showing the old one after a rename.
"""

import hashlib
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Final

LONGEST_WAIT: Final = timedelta(seconds=1)
"""Of a request for a changed file; one that takes longer to read counts once it was read."""
_SETTLED: Final = 2_000_000_000
"""Nanoseconds after a change; file systems count in steps of up to two seconds."""
_State = tuple[int, int, int, int, int]
"""Device, inode, size, times of the last write and of the last change, in nanoseconds."""


class WatchedFile:
    """One file, and what it held when it was read last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._state: _State | None = None
        self._digest = b""

    def read(self) -> bytes:
        """Return the content as it is now; raises OSError."""
        state = self._look()
        content = self.path.read_bytes()
        self._digest = hashlib.sha256(content).digest()
        # The state from before: a change while it was read is seen the next time.
        self._state = state if _is_settled(state) else None
        return content

    def may_have_changed(self) -> bool:
        """Tell whether `read_if_changed` may find another content: one system call."""
        try:
            return self._state is None or self._look() != self._state
        except OSError:
            return True

    def read_if_changed(self) -> bytes | None:
        """Return the content if it is another than the last time; raises OSError."""
        try:
            if self._state is not None and self._look() == self._state:
                return None
            before = self._digest
            content = self.read()
        except OSError:
            # What comes back is reported, even if it is the same as before.
            self._state, self._digest = None, b""
            raise
        return None if self._digest == before else content

    def _look(self) -> _State:
        found = os.stat(self._name)  # noqa: PTH116 - twice as fast as by a Path
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _is_settled(state: _State) -> bool:
    """Tell whether a later change would show: no time of the file is the present.

    A time in the future, set by a copy or by a clock that went ahead, is no present either.
    """
    now = time.time_ns()
    return all(abs(now - changed) > _SETTLED for changed in state[3:])
