"""User events: the log that stores them, and listeners."""

from typing import Protocol

from gateway.domain.events import UserEvent
from gateway.domain.realm import Realm


class EventLog(Protocol):
    """Stores user events: at once where no crash of a process loses them, later in SQL."""

    def append(self, event: UserEvent) -> bool:
        """Store the event before returning; False where there is no room for it."""

    async def settle(self) -> None:
        """Store the events of all workers of this machine in SQL; raises StoreUnavailable."""


class EventListeners(Protocol):
    """The listeners that receive every event of a realm, stored or not."""

    @property
    def names(self) -> frozenset[str]:
        """The listeners that a realm may choose."""

    def wants(self, realm: Realm, *, failed: bool) -> bool:
        """Return whether a listener of the realm wants events of success, or of failure."""

    def publish(self, realm: Realm, event: UserEvent) -> None:
        """Pass the event to the realm's listeners; a failure of one does not reach the caller."""
