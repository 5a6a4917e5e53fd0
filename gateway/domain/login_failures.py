"""What is remembered of failed sign-ins of one user, and what may come of another one.

Keycloak: 4 (brute-force protection)
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class LoginFailures:
    """The record of one user; nothing remembered is zero everywhere."""

    failures: int = 0
    temporary_lockouts: int = 0
    locked_until: datetime | None = None
    last_failure: datetime | None = None
    last_address: str | None = None
    permanent: bool = False
    """Too many for good: the account is, or is about to be, disabled in the database."""
    secondary_failures: int = 0
    """How many of the failures were of a second factor, after a right password."""

    def is_locked(self, now: datetime) -> bool:
        """Tell whether the account is locked out, for a while or for good."""
        return self.permanent or (self.locked_until is not None and now < self.locked_until)


class Admission(StrEnum):
    """What the guard says to one attempt, before the password is looked at."""

    ADMITTED = "admitted"
    """The attempt holds one of the places that are left; it must be settled."""
    LOCKED = "locked"
    """The account, or the address for it, is locked out: the password is not looked at."""
    LOCKED_FOR_GOOD = "locked for good"
    """The same, and the database has to know of it, even if its writer died on the way."""
    BUSY = "busy"
    """Other attempts hold every place that is left; ask again when one has settled."""


@dataclass(frozen=True, slots=True)
class FailureOutcome:
    """What one failed attempt has brought."""

    record: LoginFailures
    locked_now: bool
    """This failure began a temporary lock-out."""
    permanent: bool
    """This failure is the one too many: the account is to be locked for good."""
    address_locked: bool = False
    """The address of this failure is locked out for the user."""
