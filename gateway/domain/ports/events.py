"""User events: the log that stores them, and listeners."""

from collections.abc import Sequence
from typing import Protocol

from gateway.domain.events import LoggedEvent, UserEvent
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm


class EventLog(Protocol):
    """Stores user events: at once where no crash of a process loses them, later in SQL."""

    def append(
        self, event: UserEvent, *, is_stored: bool = True, listeners: tuple[str, ...] = ()
    ) -> bool:
        """Store the event before returning; False where there is no room for it.

        With `is_stored` it goes to SQL; `listeners` add to their queues in that transaction.
        """

    async def settle(self) -> None:
        """Store the events of all workers of this machine in SQL; raises StoreUnavailable."""


class EventListeners(Protocol):
    """The listeners that receive every event of a realm, stored or not."""

    @property
    def names(self) -> frozenset[str]:
        """The listeners that a realm may choose."""

    def receivers(self, realm: Realm, name: str, *, failed: bool) -> tuple[bool, tuple[str, ...]]:
        """Return whether a listener wants such an event at once, and listeners that queue it."""

    def publish(self, realm: Realm, event: UserEvent) -> None:
        """Pass the event to these listeners; a failure of one does not reach the caller."""


class EventQueues(Protocol):
    """The listeners that queue something of an event, such as a mail."""

    async def queue(self, stores: Stores, logged: Sequence[LoggedEvent]) -> None:
        """Add to the listeners' queues in the transaction of `stores`; a repeat adds nothing."""
