"""Turns of realms and networks, in every order of events."""

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gateway.domain.errors import Overloaded
from gateway.domain.limits.fair_share import FairQueue, Room, Turn

ROOM = Room(of_network=4, of_realm=9, in_all=20)
THREADS = 2
REALMS = ("a", "b", "c")
NETWORKS = tuple("stuvw")
Job = int
Place = tuple[str, str]


def never(_: Job) -> bool:
    return False


class QueueMachine(RuleBasedStateMachine):
    """Adds, takes, finishes and cancels jobs; costs differ between networks by 100 times."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: FairQueue[Job] = FairQueue(ROOM)
        self.waiting: dict[Place, list[Job]] = {}
        self.running: list[Turn[Job]] = []
        self.passed: dict[Place, dict[str, int]] = {}
        """Waiting network that runs nothing -> how often each other one was served meanwhile."""
        self.newest = 0

    def running_of(self, place: Place) -> int:
        return [(turn.realm_id, turn.network) for turn in self.running].count(place)

    def held(self, chosen: Callable[[Place], bool]) -> int:
        waiting = sum(len(jobs) for place, jobs in self.waiting.items() if chosen(place))
        return waiting + sum(chosen((turn.realm_id, turn.network)) for turn in self.running)

    @rule(realm=st.sampled_from(REALMS), network=st.sampled_from(NETWORKS))
    def add(self, realm: str, network: str) -> None:
        place, self.newest = (realm, network), self.newest + 1
        own = len(self.waiting.get(place, ()))
        try:
            removed = self.queue.add_job(realm, network, self.newest, never)
        except Overloaded:
            full = self.held(lambda one: one == place) >= ROOM.of_network
            others = [len(jobs) for one, jobs in self.waiting.items() if one[0] == realm]
            realm_full = self.held(lambda one: one[0] == realm) >= ROOM.of_realm
            all_full = self.held(lambda _: True) >= ROOM.in_all
            assert full or realm_full or all_full
            # A network without jobs is refused where no other one has two that wait.
            assert full or own or max(others, default=0) <= 1 or not realm_full
            return
        for job in removed:
            (loser,) = (one for one, jobs in self.waiting.items() if job in jobs)
            assert self.waiting[loser][-1] == job, "the newest gives way"
            assert len(self.waiting[loser]) > own + 1 or loser[0] != realm
            self.waiting[loser].remove(job)
        self.waiting.setdefault(place, []).append(self.newest)
        self._forget_served()

    @precondition(lambda self: len(self.running) < THREADS)
    @rule()
    def take(self) -> None:
        turn = self.queue.take_turn()
        if turn is None:
            assert not any(self.waiting.values())
            return
        place = (turn.realm_id, turn.network)
        assert self.waiting[place].pop(0) == turn.job, "the oldest of a network goes first"
        for (realm, network), jobs in self.waiting.items():
            if realm != turn.realm_id or network == turn.network or not jobs:
                continue
            if self.running_of((realm, network)):
                continue
            counts = self.passed.setdefault((realm, network), {})
            counts[turn.network] = counts.get(turn.network, 0) + 1
            assert counts[turn.network] == 1, "a network that waits is passed once by each other"
        self.running.append(turn)
        self.passed.pop(place, None)
        self._forget_served()

    @precondition(lambda self: self.running)
    @rule(which=st.integers(0, THREADS - 1))
    def finish(self, which: int) -> None:
        turn = self.running.pop(which % len(self.running))
        self.queue.finish(turn, 10.0 if turn.network == "s" else 0.1)

    @rule(realm=st.sampled_from(REALMS), network=st.sampled_from(NETWORKS))
    def cancel(self, realm: str, network: str) -> None:
        jobs = self.waiting.get((realm, network))
        if jobs:
            self.queue.remove_job(realm, network, jobs.pop(len(jobs) // 2))
            self._forget_served()

    def _forget_served(self) -> None:
        self.passed = {place: counts for place, counts in self.passed.items() if self.waits(place)}

    def waits(self, place: Place) -> bool:
        return bool(self.waiting.get(place))

    @invariant()
    def room_and_memory_are_bounded(self) -> None:
        places = {place for place in self.waiting if self.waits(place)}
        places |= {(turn.realm_id, turn.network) for turn in self.running}
        assert len(self.queue) == len(places), "nothing is kept of a network without jobs"
        for place in places:
            assert self.held(place.__eq__) <= ROOM.of_network
        for realm in REALMS:
            assert sum(self.held((realm, name).__eq__) for name in NETWORKS) <= ROOM.of_realm
        assert self.held(lambda _: True) <= ROOM.in_all


TestFairQueue = QueueMachine.TestCase
TestFairQueue.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


def test_a_flood_of_one_network_takes_every_second_turn_at_most() -> None:
    queue: FairQueue[str] = FairQueue(Room(of_network=64, of_realm=200, in_all=200))
    for number in range(60):
        queue.add_job("realm", "flood", f"flood {number}", lambda _: False)
    queue.add_job("realm", "home", "home 0", lambda _: False)
    taken = []
    for number in range(10):
        turn = queue.take_turn()
        assert turn is not None
        taken.append(turn.network)
        queue.finish(turn, 0.1)
        if turn.network == "home":
            queue.add_job("realm", "home", f"home {number}", lambda _: False)
    assert taken == ["flood", "home"] * 5


def test_a_network_that_runs_nothing_goes_first() -> None:
    queue: FairQueue[str] = FairQueue(Room(of_network=64, of_realm=200, in_all=200))
    for job in ("1", "2", "3"):
        queue.add_job("realm", "flood", job, lambda _: False)
    running = queue.take_turn()
    queue.add_job("realm", "home", "4", lambda _: False)
    following = queue.take_turn()
    assert running is not None
    assert following is not None
    assert (running.job, following.job) == ("1", "4")


def test_the_newest_job_of_the_flood_gives_way_in_a_full_realm() -> None:
    queue: FairQueue[str] = FairQueue(Room(of_network=6, of_realm=6, in_all=100))
    for number in range(6):
        queue.add_job("realm", "flood", str(number), lambda _: False)
    assert queue.add_job("realm", "home", "home", lambda _: False) == ["5"]
    with pytest.raises(Overloaded):
        queue.add_job("realm", "flood", "6", lambda _: False)
