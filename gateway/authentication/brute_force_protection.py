"""Protection against guessing: the guard before each check of a secret, and permanent lockout.

Keycloak: 4 (brute-force protection), 4.1 step 7 (permanentLockout)
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

from gateway.domain.errors import RealmgateError
from gateway.domain.ports.invalidation import user_topic
from gateway.domain.ports.login_failures import (
    Admission,
    FailureOutcome,
    LoginFailures,
    LoginFailureStore,
)
from gateway.domain.ports.observability import Metrics
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import BruteForce
from gateway.domain.users import User

LOCKOUT_ATTRIBUTE: Final = "disabledReason"
LOCKOUT_REASON: Final = "permanentLockout"


def is_locked_for_good(user: User) -> bool:
    """Tell whether the guard, and not an administrator, has disabled the account."""
    return not user.enabled and LOCKOUT_REASON in user.attributes.get(LOCKOUT_ATTRIBUTE, ())


async def lock_for_good(stores: Stores, realm_id: str, user_id: str) -> None:
    """Disable the account, unless it is gone or disabled already.

    Keycloak: 4.1 step 7 (permanentLockout)
    """
    user = await stores.users.get_for_update(realm_id, user_id)
    if user is not None and user.enabled:
        attributes = {**user.attributes, LOCKOUT_ATTRIBUTE: (LOCKOUT_REASON,)}
        await stores.users.replace(replace(user, enabled=False, attributes=attributes))
        await stores.change_log.record([user_topic(realm_id, user_id)])


def without_lockout_reason(user: User) -> dict[str, tuple[str, ...]]:
    """Return the attributes of a user that is enabled again."""
    return {name: texts for name, texts in user.attributes.items() if name != LOCKOUT_ATTRIBUTE}


_LONGEST_WAIT: Final = 2.0
"""Seconds that an attempt waits for a place."""
_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.16
_UNCOUNTED: Final = FailureOutcome(LoginFailures(), locked_now=False, permanent=False)


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt at one user's password; settled at most once."""

    _store: LoginFailureStore
    _metrics: Metrics
    _rules: BruteForce
    _place: tuple[str, str, str]
    """Realm, user and attempt in the store, by their ids."""
    _address: str
    """That of the user's browser or client."""
    _settled: bool
    """True from the beginning where the realm is not protected."""
    admission: Admission = Admission.ADMITTED

    @property
    def admitted(self) -> bool:
        return self.admission is Admission.ADMITTED

    async def failed(self, *, second_factor: bool = False) -> FailureOutcome:
        """Count the failure; `second_factor` means that the password was right."""
        if not self._settle():
            return _UNCOUNTED
        outcome = await self._store.fail(
            *self._place, rules=self._rules, address=self._address, second_factor=second_factor
        )
        self._metrics.security_event("failed_login")
        if outcome.permanent:
            self._metrics.security_event("permanent_lockout")
        elif outcome.locked_now:
            self._metrics.security_event("temporary_lockout")
        if outcome.address_locked:
            self._metrics.security_event("address_lockout")
        return outcome

    async def passed_over(self, *, counts: bool = False) -> None:
        """Settle an attempt in which no password was compared; take as long as a failure.

        With `counts` later attempts are admitted as after a failure: the name is no user's.
        """
        if self._settle():
            await self._store.pass_over(
                *self._place, rules=self._rules, address=self._address, counts=counts
            )

    async def succeeded(self) -> None:
        """Clear the failures of the user and of the address."""
        if self._settle():
            await self._store.succeed(*self._place, address=self._address)

    async def reserve(self) -> None:
        """Reserve a place; wait while other attempts hold every place that is left."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + _LONGEST_WAIT, _FIRST_PAUSE
        while not self._settled:
            self.admission = await self._store.reserve(
                *self._place, rules=self._rules, address=self._address
            )
            if self.admission is not Admission.BUSY or loop.time() >= deadline:
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def release(self) -> None:
        """Give the place back unless the attempt was settled."""
        if self._settle():
            await self._store.release(*self._place, address=self._address)

    def _settle(self) -> bool:
        """Mark the attempt as settled; tell whether it was not before."""
        settled, self._settled = self._settled, True
        return not settled


class BruteForceGuard:
    """Admits attempts and counts their outcomes.

    An attempt reserves a place before anything is compared and reports the outcome afterwards.
    Where other attempts hold every place that is left, it waits for a while, since one of them may
    succeed. An attempt that is cancelled before its outcome is known gives its place back
    uncounted.

    Keycloak: 4 (brute-force protection); attacks: D1, D3, D4, D5
    """

    def __init__(self, store: LoginFailureStore, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics

    @asynccontextmanager
    async def attempt(
        self, rules: BruteForce, realm_id: str, user_id: str, address: str
    ) -> AsyncIterator[Attempt]:
        """Yield an attempt from an IP address; `admitted`: whether the password may be compared.

        An attempt that was not settled gives its place back uncounted. Raises StoreUnavailable;
        where the realm is not protected, no store is asked.
        """
        place = (realm_id, user_id, str(uuid4()))
        attempt = Attempt(self._store, self._metrics, rules, place, address, not rules.protected)
        await attempt.reserve()
        try:
            yield attempt
        except RealmgateError:
            await attempt.release()
            raise
        await attempt.release()
