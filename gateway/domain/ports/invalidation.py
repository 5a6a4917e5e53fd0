"""Invalidation of caches in every worker of every gateway, and the change log behind it.

A change records its topics in its own transaction (`Stores.change_log`) and publishes them after
the commit. Messages are fast and may be lost; every worker also reads the records.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

REALM_TOPIC: Final = "realm:"
USER_TOPIC: Final = "user:"
CLIENT_TOPIC: Final = "client:"
DENY_LIST_TOPIC: Final = "deny-list:"
MOST_TOPICS: Final = 100
"""Of one realm in one change; beyond it the whole realm is invalidated."""


def realm_topic(realm_id: str) -> str:
    """Return the topic of a change of a realm, or of much in it."""
    return f"{REALM_TOPIC}{realm_id}"


def user_topic(realm_id: str, user_id: str) -> str:
    """Return the topic of a change of one user."""
    return f"{USER_TOPIC}{realm_id}:{user_id}"


def client_topic(realm_id: str, client: str) -> str:
    """Return the topic of a change of the client with internal id `client`."""
    return f"{CLIENT_TOPIC}{realm_id}:{client}"


def deny_list_topic(realm_id: str) -> str:
    """Return the topic of a change of the realm's deny list of certificates."""
    return f"{DENY_LIST_TOPIC}{realm_id}:"


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One change. Ids grow in the order of their assignment, not of the commits."""

    id: int
    topics: tuple[str, ...]


class Topics:
    """The topics of one change without duplicates, a bounded number for each realm."""

    def __init__(self, topics: Iterable[str] = ()) -> None:
        self._of_realms: dict[str, dict[str, None]] = {}
        for topic in topics:
            self.add(topic)

    def __iter__(self) -> Iterator[str]:
        """Yield the topics, those of one realm together."""
        for topics in self._of_realms.values():
            yield from topics

    def add(self, topic: str) -> None:
        """Add a topic; that of a whole realm replaces those of its users and clients."""
        kind, _, rest = topic.partition(":")
        realm_id = rest if f"{kind}:" == REALM_TOPIC else rest.rpartition(":")[0]
        whole = realm_topic(realm_id)
        known = self._of_realms.setdefault(realm_id, {})
        if whole in known:
            return
        known[topic] = None
        if topic == whole or len(known) > MOST_TOPICS:
            self._of_realms[realm_id] = {whole: None}


class Invalidation(Protocol):
    """Messages between gateways; they may be lost, since every worker also reads the change log."""

    @property
    def connected(self) -> bool:
        """Return whether messages of other gateways arrive now."""

    async def publish(self, topics: Sequence[str]) -> None:
        """Invalidate all topics in this process, then in the others; raises StoreUnavailable.

        Every topic is tried, even after one fails.
        """

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        """Call `listener` with each topic, and with None when messages may have been missed."""


class ChangeLog(Protocol):
    """Writes in the transaction of the change."""

    async def record(self, topics: Sequence[str]) -> None:
        """Record the topics; no topics, no record."""

    async def purge(self) -> int:
        """Delete all but the newest records; return how many."""


class ChangeLogReader(Protocol):
    """Reads by one indexed query each. Both methods raise StoreUnavailable."""

    async def newest(self) -> int:
        """Return the highest id, 0 without one."""

    async def after(self, identity: int) -> Sequence[RecordedChange]:
        """Return the changes with higher ids, in their order."""
