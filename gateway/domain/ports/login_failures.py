"""Counting failed sign-ins, atomically for all gateways.

Reserve, then check: an attempt is admitted if the account would still be open after every attempt
in progress failed. So parallel attempts check a password no more often than sequential ones. An
attempt that is never settled (its gateway died) frees its place after `ATTEMPT_LIFESPAN`.
Where the rules limit the failures of an address, each address has a count and a lock-out of its
own for each user: `address` is the one that the attempt came from, an IP address as text.
The store counts by its own clock, which all gateways share.
All methods raise StoreUnavailable("redis"): no sign-in succeeds without the count.
"""

from datetime import timedelta
from typing import Final, Protocol

from gateway.domain.login_failures import Admission, FailureOutcome, LoginFailures
from gateway.domain.realm import BruteForce

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
        """Settle the attempt and clear the failures of the user and of the address.

        Other attempts keep their places, other addresses their failures.
        """

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
