"""Counting failed sign-ins, atomically for all gateways.

Reserve, then check: an attempt is admitted if the account would still be open after every attempt
in progress failed. So parallel attempts check a password no more often than sequential ones. An
attempt that is never settled (its gateway died) frees its place after `ATTEMPT_LIFESPAN`. Where the
rules limit the failures of an address, each address has a count and a lock-out of its own for each
user: `address` is the source of the attempt, an IP address as text. The store counts by its own
clock, which all gateways share. All methods raise StoreUnavailable("redis"): no sign-in succeeds
without the count.
Keycloak: 4 (brute-force protection)
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from gateway.domain.realm import BruteForce


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


ATTEMPT_LIFESPAN: Final = timedelta(seconds=30)


class LoginFailureStore(Protocol):
    """The records of all users. Each call is one round trip."""

    async def reserve(
        self, realm_id: str, user_id: str, attempt: str, *, rules: BruteForce, address: str
    ) -> Admission:
        """Reserve a place, unless the user or the address is locked out or no place is free."""

    async def fail(
        self,
        realm_id: str,
        user_id: str,
        attempt: str,
        *,
        rules: BruteForce,
        address: str,
        second_factor: bool = False,
    ) -> FailureOutcome:
        """Settle the attempt as failed: count it, and lock where the rules say so.

        A failure of a second factor counts with the others, and separately. One of an address that
        had reached its limit before counts for the address alone, while no other one has.
        """

    async def pass_over(
        self,
        realm_id: str,
        user_id: str,
        attempt: str,
        *,
        rules: BruteForce,
        address: str,
        counts: bool = False,
    ) -> None:
        """Free the attempt's place uncounted, in the time that counting takes.

        With `counts` it is counted: later attempts at the same name, which no user has, are
        admitted as those at a user. The name is never listed as locked.
        """

    async def succeed(self, realm_id: str, user_id: str, attempt: str, *, address: str) -> None:
        """Settle the attempt; clear the failures of the user and of this address alone."""

    async def release(self, realm_id: str, user_id: str, attempt: str, *, address: str) -> None:
        """Free the attempt's place uncounted: it did not test the user's password."""

    async def record(self, realm_id: str, user_id: str) -> LoginFailures:
        """Return the failures of a user."""

    async def clear(self, realm_id: str, user_id: str) -> bool:
        """Clear a user's failures from every address; return whether there were any."""

    async def clear_realm(self, realm_id: str) -> int:
        """Clear the failures of every user of a realm; return how many users had any."""

    async def locked(self, realm_id: str) -> tuple[tuple[str, LoginFailures], ...]:
        """Return the users locked out now with their failures, by the end of the lock-out."""
