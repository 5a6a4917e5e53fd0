"""The order of waiting jobs: realms share the turns, and so do the callers' networks in a realm.

Of the realms with waiting jobs, the one that has used the least thread time goes first. In a realm
the networks take turns: a network with more than one job goes to the end of the line after each
turn, and a network that runs nothing goes before those that do. So a network that waits is passed
by every other network of its realm at most once, however many jobs the others have.

Networks, realms and all together have a limited room. Where a realm is full, its network with the
most waiting jobs gives way; where all is full, the realm with the most. Memory is bounded by the
room: a network or a realm without a job is forgotten. Not for use by several threads at once.
Decision 0023; CWE-770
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gateway.domain.errors import Overloaded

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

    @property
    def running(self) -> int:
        return sum(network.running for network in self.networks.values())

    @property
    def waiting(self) -> int:
        return sum(len(network.waiting) for network in self.networks.values())

    @property
    def held(self) -> int:
        return sum(network.held for network in self.networks.values())

    @property
    def largest(self) -> _Network[JobT]:
        """The network with the most waiting jobs."""
        return max(self.networks.values(), key=lambda network: len(network.waiting))

    def next_network(self) -> str:
        """Return the network whose turn it is, of those with waiting jobs."""
        waiting = (name for name, network in self.networks.items() if network.waiting)
        return min(waiting, key=lambda name: self.networks[name].running)


class FairQueue(Generic[JobT]):
    """Jobs of networks of realms."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._realms: dict[str, _Realm[JobT]] = {}

    def __len__(self) -> int:
        """Return how many networks of realms have jobs."""
        return sum(len(realm.networks) for realm in self._realms.values())

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return sum(realm.waiting for realm in self._realms.values())

    def add(
        self, realm_id: str, network: str, job: JobT, is_abandoned: Callable[[JobT], bool]
    ) -> list[JobT]:
        """Let a job wait; return the jobs that have given way to it.

        These are jobs of a full network that are abandoned, and the newest job of the largest
        network of what is full. Raises Overloaded where no other network has more waiting jobs.
        """
        removed = self._remove_abandoned(realm_id, network, is_abandoned)
        try:
            removed += self._make_room(realm_id, network)
        except Overloaded:
            self._forget_idle(realm_id, network)
            raise
        self._network(realm_id, network).waiting.append(job)
        return removed

    def take(self) -> Turn[JobT] | None:
        """Return the job whose turn it is, which runs from now on; None where no job waits."""
        waiting = [each for each in self._realms.items() if each[1].waiting]
        if not waiting:
            return None
        realm_id, realm = min(waiting, key=lambda each: (each[1].used, each[1].running))
        name = realm.next_network()
        network = realm.networks.pop(name)
        realm.networks[name] = network  # to the end of the line
        network.running += 1
        return Turn(realm_id, name, network.waiting.popleft())

    def finish(self, turn: Turn[JobT], seconds: float) -> None:
        """Give the place of a job back that took `seconds` of thread time."""
        realm = self._realms[turn.realm_id]
        realm.used += seconds
        realm.networks[turn.network].running -= 1
        self._forget_idle(turn.realm_id, turn.network)

    def remove(self, realm_id: str, network: str, job: JobT) -> None:
        """Remove a job if it waits."""
        realm = self._realms.get(realm_id)
        found = None if realm is None else realm.networks.get(network)
        if found is not None and job in found.waiting:
            found.waiting.remove(job)
        self._forget_idle(realm_id, network)

    def _network(self, realm_id: str, network: str) -> _Network[JobT]:
        realm = self._realms.get(realm_id)
        if realm is None:
            least = min((realm.used for realm in self._realms.values()), default=0.0)
            realm = self._realms[realm_id] = _Realm(least)
        return realm.networks.setdefault(network, _Network())

    def _remove_abandoned(
        self, realm_id: str, network: str, is_abandoned: Callable[[JobT], bool]
    ) -> list[JobT]:
        """Remove the waiting jobs of a network without room whose callers are gone."""
        own = self._network(realm_id, network)
        if own.held < self._room.of_network:
            return []
        gone = [job for job in own.waiting if is_abandoned(job)]
        own.waiting = deque(job for job in own.waiting if job not in gone)
        return gone

    def _make_room(self, realm_id: str, network: str) -> list[JobT]:
        realm = self._realms[realm_id]
        own = realm.networks[network]
        if own.held >= self._room.of_network:
            raise Overloaded
        if realm.held >= self._room.of_realm:
            return [self._pop_newest(realm, more_than=len(own.waiting) + 1)]
        if sum(each.held for each in self._realms.values()) < self._room.in_all:
            return []
        largest = max(self._realms.values(), key=lambda each: each.waiting)
        if largest is realm:
            return [self._pop_newest(realm, more_than=len(own.waiting) + 1)]
        if largest.waiting <= realm.waiting + 1:
            raise Overloaded
        return [self._pop_newest(largest, more_than=0)]

    @staticmethod
    def _pop_newest(realm: _Realm[JobT], *, more_than: int) -> JobT:
        largest = realm.largest
        if len(largest.waiting) <= more_than:
            raise Overloaded
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
