"""The one place where a secret is compared: behind the guard, with one refusal for every failure.

An unknown user, a wrong secret and a locked account take the same work and end in the same refusal.
The attempt is reserved before the first secret of a request is compared and settled at its end: a
right password is counted neither as a failure nor as a success while a code is still to come.
Keycloak: 4.2 (26.7); attacks: D1, D3, D4, D8, D10, D11
"""

from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Self

from gateway.authentication.accounts import Account
from gateway.authentication.brute_force_guard import Attempt, BruteForceGuard
from gateway.authentication.engine.sign_in import SecretCheck, SignIn
from gateway.authentication.errors import AccountDisabled, InvalidUserCredentials, Lockout
from gateway.authentication.permanent_lockout import is_locked_for_good, lock_for_good
from gateway.domain.errors import StoreUnavailable
from gateway.domain.events import EventError
from gateway.domain.login_failures import Admission, FailureOutcome
from gateway.domain.ports.invalidation import Invalidation, user_topic
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm, brute_force_rules
from gateway.domain.users import User


class PermanentLockouts:
    """Disables accounts that the guard locks for good."""

    def __init__(self, database: Database, invalidation: Invalidation) -> None:
        self._database = database
        self._invalidation = invalidation

    async def lock(self, realm: Realm, user: User) -> None:
        async with self._database.write() as stores:
            await lock_for_good(stores, realm.id, user.id)
        with suppress(StoreUnavailable):  # the others read the log of changes
            await self._invalidation.publish([user_topic(realm.id, user.id)])


class GuardedChecks:
    """The checks of one request. To be used as a context, which settles the attempt."""

    def __init__(self, guard: BruteForceGuard, lockouts: PermanentLockouts) -> None:
        self._guard = guard
        self._lockouts = lockouts
        self._stack = AsyncExitStack()
        self._attempt: Attempt | None = None
        self._guarded_as = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def require_proven(self, sign_in: SignIn, account: Account, check: SecretCheck) -> None:
        """Return where the secret is right.

        Raises InvalidUserCredentials, AccountDisabled, Overloaded or StoreUnavailable.
        """
        attempt = await self._attempt_at(sign_in, account)
        proved = await check.prove(attempt.admitted)
        user = account.user
        if user is None or not (proved and attempt.admitted and account.may_sign_in):
            second_factor = bool(sign_in.used)
            raise await self._refusal(sign_in, account, attempt, second_factor=second_factor)
        if not user.enabled:
            raise AccountDisabled(user.id)
        sign_in.used.add(check.credential)

    async def succeeded(self) -> None:
        """Clear the failures of the user who has signed in."""
        if self._attempt is not None:
            await self._attempt.succeeded()

    async def _attempt_at(self, sign_in: SignIn, account: Account) -> Attempt:
        """Return the request's attempt at the account; another account is another attempt."""
        if self._attempt is None or self._guarded_as != account.guarded_as:
            realm, name = sign_in.realm, account.guarded_as
            rules, address = brute_force_rules(realm), sign_in.context.address
            attempt = self._guard.attempt(rules, realm.id, name, address)
            self._attempt = await self._stack.enter_async_context(attempt)
            self._guarded_as = name
        return self._attempt

    async def _refusal(
        self, sign_in: SignIn, account: Account, attempt: Attempt, *, second_factor: bool
    ) -> InvalidUserCredentials:
        realm, user = sign_in.realm, account.user
        if user is not None and attempt.admitted and account.may_sign_in:
            outcome = await attempt.failed(second_factor=second_factor)
            if outcome.permanent:
                await self._lockouts.lock(realm, user)
            error = EventError.INVALID_USER_CREDENTIALS
            if not user.enabled and not sign_in.context.has_pages:
                error = EventError.USER_DISABLED  # Keycloak's password grant looks there first.
            return InvalidUserCredentials(error, user.id, _lockout(outcome))
        is_no_account = user is None or user.service_account_client is not None
        await attempt.passed_over(counts=is_no_account and attempt.admitted)
        if user is not None and attempt.admission is Admission.LOCKED_FOR_GOOD and user.enabled:
            # The gateway that counted the last failure may have died before it wrote this.
            await self._lockouts.lock(realm, user)
        return _passed_over(user, attempt.admission)


def _passed_over(user: User | None, admission: Admission) -> InvalidUserCredentials:
    """Return the refusal where nothing was compared, with the reason for operators."""
    if user is None:
        return InvalidUserCredentials(EventError.USER_NOT_FOUND)
    if user.service_account_client is not None:
        return InvalidUserCredentials(EventError.INVALID_USER)
    if is_locked_for_good(user) or admission is Admission.LOCKED_FOR_GOOD:
        return InvalidUserCredentials(EventError.USER_DISABLED, user.id)
    return InvalidUserCredentials(EventError.USER_TEMPORARILY_DISABLED, user.id)


def _lockout(outcome: FailureOutcome) -> Lockout | None:
    """Return the lock-out that the failure has begun."""
    if not outcome.permanent and not outcome.locked_now:
        return None
    record = outcome.record
    return Lockout(record.failures, None if outcome.permanent else record.locked_until)
