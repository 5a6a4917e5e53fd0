"""Counting failed sign-ins, atomically for every gateway.

Reserve, then check: of many attempts at once no more are admitted than failures are left before
the lock-out, so that a password is looked at no more often than the realm allows. An attempt that
is never settled (its gateway died) gives its place back after `ATTEMPT_LIFESPAN`.
All methods raise StoreUnavailable("redis"): without the count nobody signs in.
"""

from datetime import datetime, timedelta
from typing import Final, Protocol

from gateway.domain.login_failures import Admission, FailureOutcome, LoginFailures
from gateway.domain.realm import BruteForce

ATTEMPT_LIFESPAN: Final = timedelta(seconds=30)


class LoginFailureStore(Protocol):
    """The records of all users. Each call is one round trip."""

    async def reserve(
        self, realm_id: str, user_id: str, attempt: str, *, rules: BruteForce, now: datetime
    ) -> Admission:
        """Take a place for the attempt, unless the user is locked out or every place is taken."""
        ...

    async def fail(
        self,
        realm_id: str,
        user_id: str,
        attempt: str,
        *,
        rules: BruteForce,
        now: datetime,
        address: str,
    ) -> FailureOutcome:
        """Settle the attempt as failed: count it, and lock where the rules say so."""
        ...

    async def succeed(self, realm_id: str, user_id: str) -> None:
        """Forget everything of the user: the right password was given."""
        ...

    async def release(self, realm_id: str, user_id: str, attempt: str) -> None:
        """Give the attempt's place back uncounted: the password was never compared."""
        ...

    async def record(self, realm_id: str, user_id: str) -> LoginFailures:
        """Return what is remembered of a user."""
        ...

    async def clear(self, realm_id: str, user_id: str) -> bool:
        """Forget a user's failures; tell whether there were any."""
        ...

    async def clear_realm(self, realm_id: str) -> int:
        """Forget the failures of every user of a realm; return how many had any."""
        ...

    async def locked(self, realm_id: str, now: datetime) -> tuple[tuple[str, LoginFailures], ...]:
        """Return the users that are locked out now, by id, with their records."""
        ...
