"""What a user changes in the account during a sign-in, for events and for other sessions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.events import EventType


@dataclass(frozen=True, slots=True)
class AccountChange:
    """A change, or one that was refused: an event of its own."""

    kind: EventType
    details: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    """Why it was refused; None for a change."""


@dataclass(frozen=True, slots=True)
class AccountChanges:
    """The changes of one request.

    `ends_other_sessions` says that the user's sessions in other browsers end.
    """

    changes: tuple[AccountChange, ...] = ()
    ends_other_sessions: bool = False


NO_CHANGES: Final = AccountChanges()
