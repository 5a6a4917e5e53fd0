"""What a user changes in the account during a sign-in, for events and for other sessions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from gateway.domain.events import Detail, EventType

_END_SESSIONS: Final = "logout-sessions"
"""The field of forms: with `on` the user's sessions in other browsers end."""


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

    def followed_by(self, other: Self) -> "AccountChanges":
        """Return both, in this order."""
        ends = self.ends_other_sessions or other.ends_other_sessions
        return AccountChanges((*self.changes, *other.changes), ends)


def ends_other_sessions(form: Mapping[str, str]) -> bool:
    """Tell whether a form asks to end the user's sessions in other browsers."""
    return form.get(_END_SESSIONS) == "on"


def credential_changes(
    kinds: Iterable[EventType],
    credential_type: str,
    form: Mapping[str, str],
    more: Mapping[str, str] | None = None,
) -> AccountChanges:
    """Return the events of a credential that a form has set, with the user's other sessions.

    `more` are further details.
    """
    details = {Detail.CREDENTIAL_TYPE: credential_type, **(more or {})}
    changes = tuple(AccountChange(kind, details) for kind in kinds)
    return AccountChanges(changes, ends_other_sessions(form))


def refused_credential(
    kinds: Iterable[EventType], credential_type: str, error: str, reason: str | None = None
) -> AccountChanges:
    """Return the events of a credential that was refused."""
    details = {Detail.CREDENTIAL_TYPE: credential_type}
    if reason is not None:
        details[Detail.REASON] = reason
    return AccountChanges(tuple(AccountChange(kind, details, error) for kind in kinds))


NO_CHANGES: Final = AccountChanges()
