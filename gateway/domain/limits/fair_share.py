"""Threads for costly work, shared fairly among realms and the networks of their callers.

The work of one realm cannot starve that of others, nor that of one network the others of its realm.
A job whose caller is cancelled or has disconnected before it begins is never run; a job that has
waited for too long is refused.

Of the realms with waiting jobs, the one that has used the least thread time goes first. In a realm
the networks take turns: a network with more than one job goes to the end of the line after each
turn, and a network that runs nothing goes before those that do. So a network that waits is passed
by every other network of its realm at most once, however many jobs the others have.

Networks, realms and all together have a limited room. Where a realm is full, its network with the
most waiting jobs gives way; where all is full, the realm with the most. Memory is bounded by the
room: a network or a realm without a job is forgotten. The queue is not for several threads at once.
Decision 0023; CWE-770
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from gateway.domain.errors import Overloaded
from gateway.domain.limits.rate_limits import caller_of

JobT = TypeVar("JobT")


@dataclass(frozen=True, slots=True)
class Room:
    """How many jobs there may be, those that run included."""

    of_network: int
    """Of one network in one realm."""
    of_realm: int
    in_all: int


@dataclass(frozen=True, slots=True)
class Turn(Generic[JobT]):
    """A job that was taken to be run, and its place."""

    realm_id: str
    network: str
    job: JobT


@dataclass(slots=True)
class _Network(Generic[JobT]):
    running: int = 0
    waiting: deque[JobT] = field(default_factory=deque)

    @property
    def held(self) -> int:
        return self.running + len(self.waiting)


@dataclass(slots=True)
class _Realm(Generic[JobT]):
    used: float
    """Seconds of thread time; a realm begins with the least of those that are here."""
    networks: dict[str, _Network[JobT]] = field(default_factory=dict)
    """By name, in the order of their turns."""
    running: int = 0
    waiting: int = 0

    @property
    def largest(self) -> _Network[JobT]:
        """The network with the most waiting jobs."""
        return max(self.networks.values(), key=lambda network: len(network.waiting))


class FairQueue(Generic[JobT]):
    """Jobs of networks of realms."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._realms: dict[str, _Realm[JobT]] = {}
        self.waiting = 0
        """How many jobs wait."""
        self._running = 0

    def __len__(self) -> int:
        """Return how many networks of realms have jobs."""
        return sum(len(realm.networks) for realm in self._realms.values())

    def add_job(
        self, realm_id: str, network: str, job: JobT, is_abandoned: Callable[[JobT], bool]
    ) -> list[JobT]:
        """Let a job wait; return the jobs that have given way to it.

        These are jobs of a full network that are abandoned, and the newest job of the largest
        network of what is full. Raises Overloaded where no other network has more waiting jobs.
        """
        realm = self._realms.get(realm_id)
        if realm is None:
            least = min((each.used for each in self._realms.values()), default=0.0)
            realm = self._realms[realm_id] = _Realm(least)
        own, removed = realm.networks.setdefault(network, _Network()), []
        if own.held >= self._room.of_network:
            removed = [waiting for waiting in own.waiting if is_abandoned(waiting)]
            own.waiting = deque(waiting for waiting in own.waiting if waiting not in removed)
            self._count(realm, -len(removed))
        try:
            removed += self._make_room(realm, own)
        except Overloaded:
            self._forget_idle(realm_id, network)
            raise
        own.waiting.append(job)
        self._count(realm, 1)
        return removed

    def _count(self, realm: _Realm[JobT], waiting: int) -> None:
        realm.waiting += waiting
        self.waiting += waiting

    def take_turn(self) -> Turn[JobT] | None:
        """Return the job whose turn it is, which runs from now on; None where no job waits."""
        if not self.waiting:
            return None
        realms = enumerate(self._realms.items())
        *_, realm_id = min(
            (one.used, one.running, place, name) for place, (name, one) in realms if one.waiting
        )
        realm = self._realms[realm_id]
        networks = enumerate(realm.networks.items())
        *_, name = min((one.running, place, name) for place, (name, one) in networks if one.waiting)
        network = realm.networks.pop(name)
        realm.networks[name] = network  # to the end of the line
        network.running += 1
        realm.running += 1
        self._running += 1
        self._count(realm, -1)
        return Turn(realm_id, name, network.waiting.popleft())

    def finish(self, turn: Turn[JobT], seconds: float) -> None:
        """Give the place of a job back that took `seconds` of thread time."""
        realm = self._realms[turn.realm_id]
        realm.used += seconds
        realm.networks[turn.network].running -= 1
        realm.running -= 1
        self._running -= 1
        self._forget_idle(turn.realm_id, turn.network)

    def remove_job(self, realm_id: str, network: str, job: JobT) -> None:
        """Remove a job if it waits."""
        realm = self._realms.get(realm_id)
        found = None if realm is None else realm.networks.get(network)
        if realm is not None and found is not None and job in found.waiting:
            found.waiting.remove(job)
            self._count(realm, -1)
        self._forget_idle(realm_id, network)

    def _make_room(self, realm: _Realm[JobT], own: _Network[JobT]) -> list[JobT]:
        if own.held >= self._room.of_network:
            raise Overloaded
        if realm.running + realm.waiting >= self._room.of_realm:
            return [self._pop_newest(realm, more_than=len(own.waiting) + 1)]
        if self._running + self.waiting < self._room.in_all:
            return []
        largest = max(self._realms.values(), key=attrgetter("waiting"))
        if largest is realm:
            return [self._pop_newest(realm, more_than=len(own.waiting) + 1)]
        if largest.waiting <= realm.waiting + 1:
            raise Overloaded
        return [self._pop_newest(largest, more_than=0)]

    def _pop_newest(self, realm: _Realm[JobT], *, more_than: int) -> JobT:
        largest = realm.largest
        if len(largest.waiting) <= more_than:
            raise Overloaded
        self._count(realm, -1)
        return largest.waiting.pop()

    def _forget_idle(self, realm_id: str, network: str) -> None:
        realm = self._realms.get(realm_id)
        if realm is None:
            return
        found = realm.networks.get(network)
        if found is not None and not found.held:
            del realm.networks[network]
        if not realm.networks:
            del self._realms[realm_id]


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


caller_is_gone: ContextVar[Callable[[], bool]] = ContextVar("caller_is_gone", default=bool)
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
    is_abandoned: Callable[[], bool]
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
        """Return what `work` returns, as `run`; a refusal comes after a pause."""
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
        job.future.add_done_callback(partial(self._leave, realm_id, network, job))
        with self._lock:
            refused = self._queue.add_job(realm_id, network, job, lambda one: one.is_abandoned())
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

    def _leave(self, realm_id: str, network: str, job: _Job, _: Future[Any]) -> None:
        with self._lock:
            self._queue.remove_job(realm_id, network, job)

    def _run_next(self) -> None:
        """Run the job whose turn it is; idle where none waits, because jobs were removed."""
        with self._lock:
            self._calls -= 1
            turn = self._queue.take_turn()
        if turn is None:
            return
        # The outcome is delivered last: its receiver finds the room free.
        with turn.job:
            begun = time.thread_time()
            try:
                turn.job.run()
            finally:
                with self._lock:
                    self._queue.finish(turn, time.thread_time() - begun)
