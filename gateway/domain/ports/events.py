"""Where events go: to a log that keeps them, and to who listens."""

from typing import Protocol

from gateway.domain.events import UserEvent
from gateway.domain.realm import Realm


class EventLog(Protocol):
    """Keeps user events: at once so that no death of a process loses them, later in SQL."""

    def append(self, event: UserEvent) -> bool:
        """Keep the event before returning; False where there is no room for it."""

    async def settle(self) -> None:
        """Store in SQL whatever the workers of this machine have kept; raises StoreUnavailable."""


class EventListeners(Protocol):
    """Who is told of every event of a realm, stored or not."""

    @property
    def names(self) -> frozenset[str]:
        """Whom a realm may choose."""

    def wants(self, realm: Realm, *, failed: bool) -> bool:
        """Tell whether anybody listens to what went well, or to what failed."""

    def tell(self, realm: Realm, event: UserEvent) -> None:
        """Tell the realm's listeners; one that fails disturbs nobody."""
