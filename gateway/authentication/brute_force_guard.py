"""The one gate in front of every check of a password or code.

Reserve, then check: an attempt takes a place before anything is compared, and says afterwards what
came of it. Where other attempts hold every place that is left, it waits for a while, for one of
them may turn out right; an attempt that nobody settles gives its place back by itself. So does one
that was cancelled in the middle: whether it was right, nobody has learned.

Keycloak: 4 (brute-force protection); attacks: D1, D3, D4
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from uuid import uuid4

from gateway.domain.errors import RealmgateError
from gateway.domain.login_failures import Admission, FailureOutcome, LoginFailures
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.metrics import Metrics
from gateway.domain.realm import BruteForce

_PATIENCE: Final = 2.0
"""Seconds that an attempt waits for a place."""
_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.16
_UNCOUNTED: Final = FailureOutcome(LoginFailures(), locked_now=False, permanent=False)


class Attempt:
    """One attempt at one user's password; settled at most once."""

    def __init__(
        self, guard: "BruteForceGuard", rules: BruteForce, realm_id: str, user_id: str
    ) -> None:
        self.id: Final = str(uuid4())
        self.rules: Final = rules
        self.realm_id: Final = realm_id
        self.user_id: Final = user_id
        self.admission = Admission.ADMITTED
        self.settled = not rules.protected
        self._guard = guard

    @property
    def admitted(self) -> bool:
        """Tell whether the password may be looked at."""
        return self.admission is Admission.ADMITTED

    async def failed(self, address: str, *, second_factor: bool = False) -> FailureOutcome:
        """Count the failure; say what it has brought."""
        return await self._guard.fail(self, address, second_factor=second_factor)

    async def passed_over(self, address: str) -> None:
        """Count nothing, for no password was looked at; take as long as a failure."""
        await self._guard.pass_over(self, address)

    async def succeeded(self) -> None:
        """Forget the user's failures."""
        await self._guard.succeed(self)


class BruteForceGuard:
    """Admits attempts and counts what came of them."""

    def __init__(self, store: LoginFailureStore, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics

    @asynccontextmanager
    async def attempt(
        self, rules: BruteForce, realm_id: str, user_id: str
    ) -> AsyncIterator[Attempt]:
        """Let an attempt through, or say in `admitted` that nothing may be looked at.

        What leaves unsettled gives its place back uncounted. Raises StoreUnavailable; where the
        realm is not protected, no store is asked.
        """
        attempt = Attempt(self, rules, realm_id, user_id)
        if rules.protected:
            attempt.admission = await self._admit(attempt)
        try:
            yield attempt
        except RealmgateError:
            await self._release(attempt)
            raise
        await self._release(attempt)

    async def fail(
        self, attempt: Attempt, address: str, *, second_factor: bool = False
    ) -> FailureOutcome:
        """Count a failed attempt; `second_factor` tells that the password was right."""
        if attempt.settled:
            return _UNCOUNTED
        attempt.settled = True
        outcome = await self._store.fail(
            attempt.realm_id,
            attempt.user_id,
            attempt.id,
            rules=attempt.rules,
            address=address,
            second_factor=second_factor,
        )
        self._metrics.security_event("failed_login")
        if outcome.permanent:
            self._metrics.security_event("permanent_lockout")
        elif outcome.locked_now:
            self._metrics.security_event("temporary_lockout")
        return outcome

    async def pass_over(self, attempt: Attempt, address: str) -> None:
        """Settle an attempt at which nothing was looked at."""
        if not attempt.settled:
            attempt.settled = True
            await self._store.pass_over(
                attempt.realm_id,
                attempt.user_id,
                attempt.id,
                rules=attempt.rules,
                address=address,
            )

    async def succeed(self, attempt: Attempt) -> None:
        """Settle an attempt that was right."""
        if not attempt.settled:
            attempt.settled = True
            await self._store.succeed(attempt.realm_id, attempt.user_id, attempt.id)

    async def _admit(self, attempt: Attempt) -> Admission:
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + _PATIENCE, _FIRST_PAUSE
        while True:
            admission = await self._store.reserve(
                attempt.realm_id,
                attempt.user_id,
                attempt.id,
                rules=attempt.rules,
            )
            if admission is not Admission.BUSY or loop.time() >= deadline:
                return admission
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _release(self, attempt: Attempt) -> None:
        if not attempt.settled:
            attempt.settled = True
            await self._store.release(attempt.realm_id, attempt.user_id, attempt.id)
