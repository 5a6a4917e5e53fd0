"""A private redis-server on a unix socket, for installations that configure none.

The append-only file is flushed every second and nothing is evicted. One server serves every
process of a state folder: the process with the lock on `run/redis.owner` starts and ends it. The
lock ends with its process, so the next process takes over the server of one that was killed.
"""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from gateway.domain.errors import FieldError, InvalidInput, StoreUnavailable
from gateway.domain.secrets import Secret
from gateway.storage.file_lock import try_lock

_START = timedelta(seconds=10)
_STOP = timedelta(seconds=10)
_POLL = 0.01
_ANSWER_SECONDS = 1.0
_LONGEST_SOCKET_PATH = 107
PROGRAMS = ("redis-server", "valkey-server")
"""The first one that is installed is started."""


class PrivateRedis:
    """The private server of `state_dir`; `start` and `stop` come in pairs."""

    def __init__(self, state_dir: Path) -> None:
        run = state_dir.absolute() / "run"
        self._socket = run / "redis.sock"
        self.url = Secret(f"unix://{self._socket}")
        self._owner_file = run / "redis.owner"
        self._data = state_dir.absolute() / "redis"
        self._log = state_dir.absolute() / "logs" / "redis.log"
        self._owner: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the server; None when it does not answer."""
        try:
            answer = _ask(self._socket, b"INFO server\r\n")
        except OSError:
            return None
        fields = dict(line.split(b":", 1) for line in answer.split(b"\r\n") if b":" in line)
        return int(fields[b"process_id"]) if b"process_id" in fields else None

    @property
    def has_ended(self) -> bool:
        """Whether the server neither runs nor starts; does not wait."""
        if self._process is not None:
            return self._process.poll() is not None
        return not _is_listened_on(self._socket)

    def start(self) -> None:
        """Make sure that the server runs; raises InvalidInput where it cannot run here."""
        for folder in (self._owner_file.parent, self._data, self._log.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._owner_file.parent.chmod(0o700)
        self._owner = _try_own(self._owner_file)
        if self._owner is not None and self.pid is None:
            self._launch()
        _becomes_true(lambda: self._is_usable() or self._has_failed(), _START)
        if not self._is_usable():
            self.stop()
            raise StoreUnavailable("redis")

    def restart(self) -> None:
        """Launch the ended server without waiting; does nothing where another process owns it.

        `has_ended` shows the result. Raises InvalidInput or OSError.
        """
        if self._owner is None:
            self._owner = _try_own(self._owner_file)
        if self._owner is not None:
            self._launch()

    def stop(self) -> None:
        """End the server where this process owns it; it writes its data first."""
        if self._owner is None:
            return
        pid = self.pid if self._process is None else self._process.pid
        if pid is not None and not self._is_gone(pid):
            os.kill(pid, signal.SIGTERM)
            if not _becomes_true(lambda: self._is_gone(pid), _STOP):
                os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
            self._process = None
        # Forked workers share the lock: closing the file alone would not release it.
        fcntl.flock(self._owner, fcntl.LOCK_UN)
        os.close(self._owner)
        self._owner = None

    def _launch(self) -> None:
        binary = next(filter(None, map(shutil.which, PROGRAMS)), None)
        if binary is None:
            allowed = "redis-server or valkey-server to be installed, or a URL"
            raise InvalidInput((FieldError("redis_url", "nothing", allowed),))
        if len(os.fsencode(self._socket)) > _LONGEST_SOCKET_PATH:
            allowed = f"a state folder so short that {self._socket} is a socket's path"
            raise InvalidInput((FieldError("state_dir", "a long path", allowed),))
        self._socket.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [binary, *self._options()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C in a terminal reaches this process, which ends the server after its clients.
            start_new_session=True,
        )

    def _options(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "600",
            "daemonize": "no",
            "dir": str(self._data),
            "logfile": str(self._log),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        return [part for name, value in options.items() for part in (f"--{name}", value)]

    def _is_usable(self) -> bool:
        if self._has_failed():
            return False
        with suppress(OSError):
            return _ask(self._socket, b"PING\r\n").startswith(b"+PONG")
        return False

    def _has_failed(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _is_gone(self, pid: int) -> bool:
        if self._process is not None:
            return self._process.poll() is not None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False


def _try_own(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _is_listened_on(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)
        try:
            connection.connect(str(path))
        except BlockingIOError:  # the queue of connections is full
            return True
        except OSError:
            return False
    return True


def _ask(path: Path, command: bytes) -> bytes:
    """Send one inline command and return the beginning of the answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_ANSWER_SECONDS)
        connection.connect(str(path))
        connection.sendall(command)
        return connection.recv(1 << 16)


def _becomes_true(condition: Callable[[], bool], within: timedelta) -> bool:
    deadline = time.monotonic() + within.total_seconds()
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True
