"""Threads for costly work, shared fairly: the work of one realm cannot starve that of others.

Of the realms with waiting work, the one that has used the least thread time goes first. A realm
may let a limited number of jobs wait. Where the room of all realms is used up, the realm with the
most waiting jobs gives way. A job whose caller is cancelled or has disconnected before it begins
is never run, and one that has waited for too long is refused instead.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar

from gateway.domain.errors import Overloaded

ResultT = TypeVar("ResultT")
REALMS: Final = 4
"""How many realms may use their waiting room at once."""
LONGEST_WAIT: Final = timedelta(seconds=10)


def _never() -> bool:
    return False


caller_is_gone: ContextVar[Callable[[], bool]] = ContextVar("caller_is_gone", default=_never)
"""Set by Hypercorn's server for each connection: returns, in any thread, whether it was closed.

With another server it is always False: waiting work is then dropped only when it is cancelled.
"""


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


@dataclass(slots=True)
class _Realm:
    """The jobs of one realm; removed as soon as it has none."""

    used: float
    """Seconds of thread time; a realm begins with the least of those that are here."""
    running: int = 0
    waiting: deque[_Job] = field(default_factory=deque)

    @property
    def held(self) -> int:
        return self.running + len(self.waiting)


class FairThreads:
    """Runs work of realms in `threads` threads; `waiting` jobs of each realm may wait."""

    def __init__(
        self,
        name: str,
        threads: int,
        waiting: int,
        *,
        initializer: Callable[[], None] | None = None,
        longest_wait: timedelta = LONGEST_WAIT,
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name, initializer=initializer)
        self._per_realm = threads + waiting
        self._room = threads + waiting * REALMS
        self._longest_wait = longest_wait.total_seconds()
        self._lock = threading.RLock()
        self._realms: dict[str, _Realm] = {}

    async def run(self, realm_id: str, work: Callable[[], ResultT]) -> ResultT:
        """Return what `work` returns; raises Overloaded without room, or after too long a wait.

        Cancelling the caller takes waiting work away; running work goes on and keeps its place.
        """
        job = _Job(work, time.monotonic() + self._longest_wait, caller_is_gone.get())
        job.future.add_done_callback(lambda _: self._leave(realm_id, job))
        with self._lock:
            refused = self._abandoned(realm_id)
            refused += self._admit(realm_id)
            self._realm(realm_id).waiting.append(job)
        for other in refused:
            if other.future.set_running_or_notify_cancel():
                other.future.set_exception(Overloaded())
        self._pool.submit(self._run_next)
        result: ResultT = await asyncio.wrap_future(job.future)
        return result

    def close(self) -> None:
        """Let running work end; drop the waiting work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _realm(self, realm_id: str) -> _Realm:
        if realm_id not in self._realms:
            least = min((realm.used for realm in self._realms.values()), default=0.0)
            self._realms[realm_id] = _Realm(least)
        return self._realms[realm_id]

    def _abandoned(self, realm_id: str) -> list[_Job]:
        """Take away the waiting jobs of a realm without room whose callers have disconnected."""
        own = self._realms.get(realm_id)
        if own is None or own.held < self._per_realm:
            return []
        gone = [job for job in own.waiting if job.is_abandoned()]
        own.waiting = deque(job for job in own.waiting if job not in gone)
        return gone

    def _admit(self, realm_id: str) -> list[_Job]:
        """Make room for a job; return the one that gives way, if any. Raises Overloaded."""
        own = self._realms.get(realm_id)
        if own is not None and own.held >= self._per_realm:
            raise Overloaded
        if sum(realm.held for realm in self._realms.values()) < self._room:
            return []
        largest = max(self._realms.values(), key=lambda realm: len(realm.waiting))
        if len(largest.waiting) <= (0 if own is None else len(own.waiting)) + 1:
            raise Overloaded
        return [largest.waiting.pop()]

    def _leave(self, realm_id: str, job: _Job) -> None:
        with self._lock:
            realm = self._realms.get(realm_id)
            if realm is not None and job in realm.waiting:
                realm.waiting.remove(job)
            self._forget_if_idle(realm_id)

    def _forget_if_idle(self, realm_id: str) -> None:
        realm = self._realms.get(realm_id)
        if realm is not None and not realm.held:
            del self._realms[realm_id]

    def _take(self) -> tuple[str, _Realm, _Job] | None:
        with self._lock:
            waiting = [each for each in self._realms.items() if each[1].waiting]
            if not waiting:
                return None
            realm_id, realm = min(waiting, key=lambda each: (each[1].used, each[1].running))
            realm.running += 1
            return realm_id, realm, realm.waiting.popleft()

    def _run_next(self) -> None:
        """Run one job. As many calls as jobs are queued; where one was cancelled, this is idle."""
        taken = self._take()
        if taken is None:
            return
        realm_id, realm, job = taken
        # The outcome is delivered last: its receiver finds the room free.
        with job, self._accounted(realm_id, realm):
            job.run()

    @contextmanager
    def _accounted(self, realm_id: str, realm: _Realm) -> Iterator[None]:
        begun = time.thread_time()
        try:
            yield
        finally:
            with self._lock:
                realm.used += time.thread_time() - begun
                realm.running -= 1
                self._forget_if_idle(realm_id)
