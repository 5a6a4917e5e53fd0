"""Keeps the workers running: starts them, replaces those that die, and ends them in order.

The supervisor forks and runs neither threads nor an event loop itself, so a worker shares the
memory of everything imported before. SIGTERM and SIGINT end the gateway, SIGHUP replaces its
workers one by one, which reads certificates and revocation lists again.
"""

import asyncio
import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Final

import structlog

from gateway.settings import Settings

CANNOT_START = 3
"""Exit code of a worker for which trying again is of no use."""

REFUSED_AFTER = timedelta(milliseconds=500)
"""How long new connections are accepted while the gateway ends: proxies that ask for its health
send none any more."""

ENDING = (signal.SIGTERM, signal.SIGINT)
_WATCHED = (*ENDING, signal.SIGHUP, signal.SIGCHLD)
_STABLE_AFTER = 5.0
_BACKOFF = (0.0, 0.1, 0.2, 0.4, 0.8, 2.0, 5.0)
_KILL_MARGIN = timedelta(seconds=2)
_TICK = 1.0


@dataclass(frozen=True, slots=True)
class Lifeline:
    """The pipes between a worker and its supervisor.

    `parent` reads as ended when the supervisor has died, by whatever means; a byte written to
    `ready` reports that the worker answers.
    """

    parent: int
    ready: int


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Resources of every worker: settings, sockets, and the directory of its counters."""

    settings: Settings
    public: socket.socket
    management: socket.socket
    metrics_directory: Path


WorkerMain = Callable[[Lifeline], int]
"""Runs a worker until SIGTERM or the end of its lifeline; returns the exit code."""


@dataclass(slots=True)
class _Worker:
    pid: int
    ready_pipe: int
    started: float
    ready: bool = False
    replaces: int | None = None
    dismissed: bool = False
    asked_to_end: float | None = None


class EarlySignals:
    """Turns SIGTERM and SIGINT into SystemExit; SIGHUP has nothing to replace yet.

    Without it SIGTERM during the start would leave a Redis process and a socket behind.
    """

    def __init__(self) -> None:
        self._asked = False
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number in ENDING:
            signal.signal(number, self._leave)

    def check(self) -> None:
        """Raise SystemExit if it was lost, as in a finalizer."""
        if self._asked:
            raise SystemExit(0)

    def _leave(self, _number: int, _frame: FrameType | None) -> None:
        # A second signal must not interrupt the cleanup.
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        self._asked = True
        raise SystemExit(0)


def end_at_once() -> None:
    """Restore the default action of the signals, in a child process."""
    for number in (*ENDING, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Backoff:
    """How long to pause before something is started again: longer each time in a row it fails."""

    def __init__(self) -> None:
        self._failures = 0

    def pause(self, lived: float) -> float:
        """Return the seconds to pause after it ended, having worked for `lived` seconds."""
        self._failures = 0 if lived > _STABLE_AFTER else self._failures + 1
        return _BACKOFF[min(self._failures, len(_BACKOFF)) - 1] if self._failures else 0.0


class Supervisor:
    """Runs `count` workers until SIGTERM or SIGINT."""

    def __init__(
        self,
        main: WorkerMain,
        count: int,
        grace: timedelta,
        tend: Callable[[], None],
        refuse_connections: Callable[[], None],
    ) -> None:
        """`grace` limits the time for a worker to end.

        `refuse_connections` is called while all workers end and still answer: without it the
        kernel takes connections that no worker accepts, and resets them at the end.
        `tend` checks other children: called every second and when one ended, it must not wait.
        """
        self._main = main
        self._count = count
        self._grace = grace + _KILL_MARGIN
        self._tend = tend
        self._refuse_connections = refuse_connections
        self._refuse_at: float | None = None
        self._workers: dict[int, _Worker] = {}
        self._selector = selectors.DefaultSelector()
        self._parent_end, self._held_end = os.pipe()
        self._backoff = Backoff()
        self._restart_at: list[float] = []
        self._log = structlog.get_logger("gateway.supervisor")
        self._ending = False
        self._exit_code = 0

    def run(self) -> int:
        """Start the workers and stay until all have ended; returns the exit code."""
        # What exists now is not collected: workers keep sharing these pages with the supervisor.
        gc.freeze()
        gc.enable()
        with _signals() as signals:
            self._selector.register(signals, selectors.EVENT_READ, None)
            for _ in range(self._count):
                self._start()
            while self._workers or (self._restart_at and not self._ending):
                self._wait(signals)
        return self._exit_code

    def _wait(self, signals: socket.socket) -> None:
        now = time.monotonic()
        due = [*self._restart_at, *([] if self._refuse_at is None else [self._refuse_at])]
        pause = min([_TICK, *(max(0.0, moment - now) for moment in due)])
        found = [key.data for key, _ in self._selector.select(pause)]
        # Signals last: a worker that is reaped takes its pipe with it, and its number may be given
        # to the pipe of the next one at once.
        for worker in found:
            if worker is not None:
                self._on_ready(worker)
        if None in found:
            for number in signals.recv(4096):
                self._on_signal(signal.Signals(number))
        self._restart_due()
        if self._refuse_at is not None and self._refuse_at <= time.monotonic():
            self._refuse_at = None
            self._refuse_connections()
        self._kill_overdue()
        if not self._ending:
            self._tend()

    def _on_signal(self, number: signal.Signals) -> None:
        if number in ENDING:
            self._end()
        elif number == signal.SIGCHLD:
            self._reap()
        elif number == signal.SIGHUP and not self._ending:
            self._log.info("replacing workers")
            self._replace_all()

    def _replace_all(self) -> None:
        """Start one for each; a replacement that is starting may have read old files."""
        done = {worker.replaces for worker in self._workers.values() if worker.ready}
        for pid, worker in list(self._workers.items()):
            if worker.replaces in self._workers and not worker.ready:
                worker.dismissed = True
                os.kill(pid, signal.SIGKILL)  # SIGTERM may come before its handler
            elif pid not in done and not worker.dismissed:
                self._start(replaces=pid)

    def _start(self, replaces: int | None = None) -> None:
        read_end, write_end = os.pipe()
        # Held back until the child handles them itself: it would write them into our socket.
        signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
        pid = os.fork()
        if pid == 0:
            self._become_worker(read_end, write_end)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        os.close(write_end)
        worker = _Worker(pid, read_end, time.monotonic(), replaces=replaces)
        self._workers[pid] = worker
        self._selector.register(read_end, selectors.EVENT_READ, worker)

    def _become_worker(self, read_end: int, write_end: int) -> None:
        """Run the worker in this forked process; never returns."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in _WATCHED:
                signal.signal(number, signal.SIG_DFL)
            # Ctrl-C reaches the whole process group; only the supervisor decides about ending.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
            self._selector.close()
            os.close(self._held_end)
            os.close(read_end)
            for other in self._workers.values():
                if not other.ready:
                    os.close(other.ready_pipe)
            code = self._main(Lifeline(self._parent_end, write_end))
        finally:
            if sys.exc_info()[0] is not None:
                self._log.exception("worker failed")
            sys.stdout.flush()
            # Not sys.exit: it would run the supervisor's cleanup in the worker.
            os._exit(code)

    def _on_ready(self, worker: _Worker) -> None:
        self._selector.unregister(worker.ready_pipe)
        worker.ready = bool(os.read(worker.ready_pipe, 1))
        if not worker.ready:  # it died before; SIGCHLD follows
            return
        os.close(worker.ready_pipe)
        if worker.dismissed:
            return
        self._log.info("worker ready", worker=worker.pid)
        if worker.replaces in self._workers:
            self._ask_to_end(self._workers[worker.replaces])

    def _reap(self) -> None:
        ended = [
            (worker, os.waitstatus_to_exitcode(status))
            for worker in self._workers.values()
            for pid, status in [os.waitpid(worker.pid, os.WNOHANG)]
            if pid
        ]
        for worker, code in ended:
            del self._workers[worker.pid]
            self._on_exit(worker, code)

    def _on_exit(self, worker: _Worker, code: int) -> None:
        if not worker.ready:
            if worker.ready_pipe in self._selector.get_map():
                self._selector.unregister(worker.ready_pipe)
            os.close(worker.ready_pipe)
        replaced = any(other.replaces == worker.pid for other in self._workers.values())
        if self._ending or replaced or worker.dismissed:
            return
        if worker.replaces in self._workers:
            return
        if code == CANNOT_START:
            self._exit_code = 1
            self._end()
            return
        pause = self._backoff.pause(time.monotonic() - worker.started if worker.ready else 0.0)
        self._log.error("worker died", worker=worker.pid, exit_status=code, restart_in=pause)
        self._restart_at.append(time.monotonic() + pause)

    def _restart_due(self) -> None:
        now = time.monotonic()
        due = [moment for moment in self._restart_at if moment <= now]
        self._restart_at = [moment for moment in self._restart_at if moment > now]
        for _ in due if not self._ending else ():
            self._start()

    def _end(self) -> None:
        if self._ending:
            return
        self._ending = True
        self._log.info("ending", workers=len(self._workers))
        self._refuse_at = time.monotonic() + REFUSED_AFTER.total_seconds()
        for worker in self._workers.values():
            self._ask_to_end(worker)

    def _ask_to_end(self, worker: _Worker) -> None:
        worker.asked_to_end = worker.asked_to_end or time.monotonic()
        os.kill(worker.pid, signal.SIGTERM)

    def _kill_overdue(self) -> None:
        """Kill workers that did not end in time, also replaced ones."""
        latest = time.monotonic() - self._grace.total_seconds()
        for worker in self._workers.values():
            if worker.asked_to_end is not None and worker.asked_to_end <= latest:
                self._log.error("worker killed, it did not end in time", worker=worker.pid)
                os.kill(worker.pid, signal.SIGKILL)


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """Turn the signals we watch into bytes on a socket."""
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    for number in _WATCHED:
        # The wake-up socket receives the signal.
        signal.signal(number, lambda _number, _frame: None)
    signal.set_wakeup_fd(writer.fileno())
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(-1)
        for number in _WATCHED:  # nothing may interrupt the cleanup
            signal.signal(number, signal.SIG_IGN if number != signal.SIGCHLD else signal.SIG_DFL)
        reader.close()
        writer.close()


_ARENA_MAX: Final = -8
"""`M_ARENA_MAX` of glibc's `malloc.h`."""
_INTERVAL: Final = timedelta(seconds=10)


def limit_malloc_arenas() -> None:
    """Let all threads of this process and of its children allocate from one heap.

    glibc gives each thread a heap of its own, none of which ever shrinks: 2 MB of a worker. They
    exist so that threads need not wait for each other, and Python's threads take turns anyway.
    Call it before the first thread is started. Other C libraries have one heap, and no `mallopt`.
    Source: mallopt(3)
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)


async def return_free_memory(interval: timedelta = _INTERVAL) -> None:
    """Return free pages of the heap to the system, every `interval`.

    By itself glibc returns only the end of the heap. What compiled the first pages leaves 2 MB
    between blocks that stay. Source: malloc_trim(3)
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while malloc_trim is not None:
        await asyncio.sleep(interval.total_seconds())
        malloc_trim(0)
