"""What is known so far of the event that a request is going to be.

Rules note what they learn as they learn it, so that an event of what failed tells how far it came.
What comes of the draft decides one place, see event_recording. Keycloak: EventBuilder
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.domain.events import EventType


@dataclass(slots=True)
class EventDraft:
    """One request's event; none as long as it has no kind."""

    kind: EventType | None = None
    client_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    error: str | None = None
    """What was wrong, where the request is answered all the same."""
    details: dict[str, str] = field(default_factory=dict)
    beside: list[tuple[EventType, Mapping[str, str]]] = field(default_factory=list)
    """What else came of it: events of the same user from the same address."""

    def begin(self, kind: EventType) -> None:
        """Let the request be an event, whatever comes of it."""
        self.kind = kind

    def fail(self, error: str) -> None:
        """Note what was wrong with a request that is answered all the same."""
        self.error = error

    def withdraw(self) -> None:
        """Let it be no event after all: nothing has happened."""
        self.kind = None
