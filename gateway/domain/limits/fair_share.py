"""Threads for costly work, shared fairly among realms and the networks of their callers.

The work of one realm cannot starve that of others, nor that of one network the others of its realm;
`fair_queue` holds the order. A job whose caller is cancelled or has disconnected before it begins
is never run, and one that has waited for too long is refused instead.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar

from gateway.domain.errors import Overloaded
from gateway.domain.limits.fair_queue import FairQueue, Room, Turn
from gateway.domain.limits.rate_limits import caller_of

ResultT = TypeVar("ResultT")
REALMS: Final = 4
"""How many realms may use their waiting room at once."""
NETWORKS: Final = 4
"""How many networks of a realm may use theirs at once."""
LONGEST_WAIT: Final = timedelta(seconds=10)
REFUSAL_PAUSE: Final = timedelta(seconds=1)
"""How long a refusal waits: a caller that repeats at once takes the processor from the hashes."""
MOST_PAUSED: Final = 512
"""Refusals that wait in one worker; more are answered at once."""


def _never() -> bool:
    return False


caller_is_gone: ContextVar[Callable[[], bool]] = ContextVar("caller_is_gone", default=_never)
"""Set by Hypercorn's server for each connection: returns, in any thread, whether it was closed.

With another server it is always False: waiting work is then dropped only when it is cancelled.
"""
caller_address: ContextVar[str] = ContextVar("caller_address", default="")
"""Set by the edge for each request: the address of the caller, as a trusted proxy reports it.

Empty for work that no request has caused. Every job belongs to the network of this address: an
endpoint that hashes a password needs no limit of its own.
"""


def caller_network() -> str:
    """Return the network of the current request's caller."""
    return caller_of(caller_address.get())


@dataclass(eq=False, slots=True)
class _Job:
    """Work and its outcome; leaving the context delivers the outcome to the future."""

    work: Callable[[], Any]
    until: float
    is_abandoned: Callable[[], bool] = _never
    future: Future[Any] = field(default_factory=Future)
    result: Any = None
    cancelled: bool = False

    def run(self) -> None:
        """Do the work; raises Overloaded where its caller has gone, or has waited for too long."""
        self.cancelled = not self.future.set_running_or_notify_cancel()
        if self.cancelled:
            return
        if self.is_abandoned() or time.monotonic() > self.until:
            raise Overloaded
        self.result = self.work()

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> bool:
        if error is not None:
            self.future.set_exception(error)
        elif not self.cancelled:
            self.future.set_result(self.result)
        return True


class FairThreads:
    """Runs work of realms in `threads` threads; `waiting` jobs of each network may wait."""

    def __init__(
        self,
        name: str,
        threads: int,
        waiting: int,
        *,
        initializer: Callable[[], None] | None = None,
        longest_wait: timedelta = LONGEST_WAIT,
        refusal_pause: timedelta = REFUSAL_PAUSE,
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name, initializer=initializer)
        room = Room(
            of_network=threads + waiting,
            of_realm=threads + waiting * NETWORKS,
            in_all=threads + waiting * NETWORKS * REALMS,
        )
        self._longest_wait = longest_wait.total_seconds()
        self._lock = threading.RLock()
        self._queue: FairQueue[_Job] = FairQueue(room)
        self._calls = 0
        """Calls of `_run_next` that have not begun: as many as jobs that wait, or more."""
        self._refusal_pause = refusal_pause.total_seconds()
        self._paused = 0

    async def run_for_caller(self, realm_id: str, work: Callable[[], ResultT]) -> ResultT:
        """Return what `work` returns, as `run`; a refusal comes after a pause.

        The pause keeps the connections of a flood busy at no cost. It is for the requests that
        anybody can send.
        """
        try:
            return await self.run(realm_id, work)
        except Overloaded:
            if self._paused < MOST_PAUSED:
                self._paused += 1
                try:
                    await asyncio.sleep(self._refusal_pause)
                finally:
                    self._paused -= 1
            raise

    async def run(self, realm_id: str, work: Callable[[], ResultT]) -> ResultT:
        """Return what `work` returns; raises Overloaded without room, or after too long a wait.

        Cancelling the caller takes waiting work away; running work goes on and keeps its place.
        """
        network = caller_network()
        job = _Job(work, time.monotonic() + self._longest_wait, caller_is_gone.get())
        job.future.add_done_callback(lambda _: self._leave(realm_id, network, job))
        with self._lock:
            refused = self._queue.add(realm_id, network, job, lambda one: one.is_abandoned())
            # A job that was removed leaves its call: callers who disconnect must not add to them.
            lacks_call = self._calls < self._queue.waiting
            self._calls += lacks_call
        for other in refused:
            if other.future.set_running_or_notify_cancel():
                other.future.set_exception(Overloaded())
        if lacks_call:
            self._pool.submit(self._run_next)
        result: ResultT = await asyncio.wrap_future(job.future)
        return result

    def close(self) -> None:
        """Let running work end; drop the waiting work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, realm_id: str, network: str, job: _Job) -> None:
        with self._lock:
            self._queue.remove(realm_id, network, job)

    def _run_next(self) -> None:
        """Run the job whose turn it is; idle where none waits, because jobs were removed."""
        with self._lock:
            self._calls -= 1
            turn = self._queue.take()
        if turn is None:
            return
        # The outcome is delivered last: its receiver finds the room free.
        with turn.job, self._accounted(turn):
            turn.job.run()

    @contextmanager
    def _accounted(self, turn: Turn[_Job]) -> Iterator[None]:
        begun = time.thread_time()
        try:
            yield
        finally:
            with self._lock:
                self._queue.finish(turn, time.thread_time() - begun)
