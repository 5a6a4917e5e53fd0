"""What a listener is, and what it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from structlog.typing import FilteringBoundLogger

from gateway.domain.events import UserEvent
from gateway.domain.mail import MAILED_BY_DEFAULT
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """What listeners are made of; `mailed_events` are names of events.

    `events_file` is the file that the listener `file` appends to.
    """

    log: FilteringBoundLogger
    mailed_events: frozenset[str] = MAILED_BY_DEFAULT
    events_file: Path | None = None


class Listener(Protocol):
    """Receives events while a request is answered. The dispatch logs any exception of it."""

    def wants(self, realm: Realm, name: str, *, failed: bool) -> bool:
        """Return whether it wants events of that name, now."""

    def on_event(self, realm: Realm, event: UserEvent) -> None:
        """Receive an event; must not block."""


@runtime_checkable
class QueueingListener(Protocol):
    """Queues something of events, such as a mail. The dispatch logs any exception of it."""

    def wants(self, realm: Realm, name: str, *, failed: bool) -> bool:
        """Return whether it wants events of that name."""

    async def queue(self, stores: Stores, events: Sequence[UserEvent]) -> None:
        """Add rows to the transaction that stores the events; the same event again adds none."""
