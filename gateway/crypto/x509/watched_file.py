"""A file that is replaced while the gateway runs: by rename, in place or behind a symbolic link.

The gateway must be given the folder of the file, not the file alone: a bind mount of one file keeps
showing the old one after a rename. What is compared is the file that the path resolves to now
(Kubernetes switches the link `..data`), and the folder. Times alone are not enough: they have the
granularity of the kernel's clock, so a file that was written a moment ago is compared by content.
"""

import hashlib
import time
from dataclasses import dataclass
from os import stat_result
from pathlib import Path
from typing import Final

_SETTLED: Final = 2_000_000_000
"""Nanoseconds after a change; file systems count in steps of up to two seconds."""


@dataclass(frozen=True, slots=True)
class _State:
    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, found: stat_result) -> "_State":
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class WatchedFile:
    """One file, and what it held when it was read last."""

    def __init__(self, path: Path) -> None:
        """Watch the file at `path`; nothing is read yet."""
        self.path = path
        self._folder = path.parent
        self._state: tuple[_State, _State] | None = None
        self._digest = b""

    def read(self) -> bytes:
        """Return the content as it is now; raises OSError."""
        state = self._look()
        content = self.path.read_bytes()
        self._digest = hashlib.sha256(content).digest()
        # The state from before: a change while it was read is seen the next time.
        self._state = state if self._is_settled(state) else None
        return content

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

    def _look(self) -> tuple[_State, _State]:
        return _State.of(self.path.stat()), _State.of(self._folder.stat())

    @staticmethod
    def _is_settled(state: tuple[_State, _State]) -> bool:
        now = time.time_ns()
        return all(now - max(one.modified, one.changed) > _SETTLED for one in state)
