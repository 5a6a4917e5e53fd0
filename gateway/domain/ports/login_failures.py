"""Counting failed sign-ins, atomically for every gateway.

Reserve, then check: an attempt is admitted while the account would still be open if every attempt
that is under way failed at once. So a password is looked at no more often than one attempt after
another would allow. An attempt that is never settled (its gateway died) gives its place back after
`ATTEMPT_LIFESPAN`.
The store counts by a clock of its own, which all gateways share.
All methods raise StoreUnavailable("redis"): without the count nobody signs in.
"""

from datetime import timedelta
from typing import Final, Protocol

from gateway.domain.login_failures import Admission, FailureOutcome, LoginFailures
from gateway.domain.realm import BruteForce

ATTEMPT_LIFESPAN: Final = timedelta(seconds=30)


class LoginFailureStore(Protocol):
    """The records of all users. Each call is one round trip."""

    async def reserve(
        self, realm_id: str, user_id: str, attempt: str, *, rules: BruteForce
    ) -> Admission:
        """Take a place for the attempt, unless the user is locked out or every place is taken."""

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

        One of a second factor counts with the others, and apart.
        """

    async def pass_over(
        self,
        realm_id: str,
        user_id: str,
        attempt: str,
        *,
        rules: BruteForce,
        address: str,
    ) -> None:
        """Give the attempt's place back uncounted, in the time that counting takes."""

    async def succeed(self, realm_id: str, user_id: str, attempt: str) -> None:
        """Settle the attempt and forget the user's failures; other attempts keep their places."""

    async def release(self, realm_id: str, user_id: str, attempt: str) -> None:
        """Give the attempt's place back uncounted: it said nothing about the user's password."""

    async def record(self, realm_id: str, user_id: str) -> LoginFailures:
        """Return what is remembered of a user."""

    async def clear(self, realm_id: str, user_id: str) -> bool:
        """Forget a user's failures; tell whether there were any."""

    async def clear_realm(self, realm_id: str) -> int:
        """Forget the failures of every user of a realm; return how many had any."""

    async def locked(self, realm_id: str) -> tuple[tuple[str, LoginFailures], ...]:
        """Return the users that are locked out now with their records, the soonest free first."""
