"""Sign-in by user name or e-mail address, password, and what the flow asks for besides.

A guesser learns nothing: an unknown user, a wrong password and a locked account take the same work,
one hash at the realm's cost included, and end in the same refusal; so does a wrong code. The answer
that an account is disabled needs the password, that it is not set up the code as well.
Keycloak: 1.5, 4.2, 5.3, 6 (26.7); attacks: D4, D10, D11
"""

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from gateway.authentication.brute_force_guard import Attempt, BruteForceGuard
from gateway.authentication.direct_grant import FlowRunner, SignIn, identity_in
from gateway.authentication.errors import (
    AccountDisabled,
    AccountNotSetUp,
    InvalidUserCredentials,
    Lockout,
    WrongCode,
)
from gateway.authentication.one_time_password import first_device
from gateway.authentication.permanent_lockout import is_locked_for_good, lock_for_good
from gateway.authentication.realm_profile import has_complete_profile
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.errors import Overloaded, StoreUnavailable
from gateway.domain.events import EventError
from gateway.domain.flows import (
    UPDATE_PASSWORD,
    VERIFY_EMAIL,
    VERIFY_PROFILE,
    SignInDemands,
)
from gateway.domain.login_failures import Admission, FailureOutcome
from gateway.domain.ports.invalidation import Invalidation, user_topic
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User, sought_name
from gateway.representations.users import PASSWORD

_CERTIFICATE: Final = "cert"
"""Keycloak's name of the kind of credential."""


@dataclass(frozen=True, slots=True)
class SubmittedCredentials:
    """What the user has sent; a missing password or required code counts as a wrong one.

    The name is None where a certificate identifies the user.
    """

    username: str | None
    password: Secret | None
    code: Secret | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """The client that asks for the sign-in, from an address; `scopes` are those it requests.

    `certificate` is that of the TLS connection.
    """

    client: Client
    address: str
    scopes: frozenset[str] = frozenset()
    certificate: ClientCertificate | None = None


@dataclass(frozen=True, slots=True)
class _Account:
    """What was found under a name; the guard counts attempts under `guarded_as`."""

    user: User | None
    credential: Credential | None
    device: Credential | None
    guarded_as: str


class PasswordLogin:
    """The check of a password, for everything that accepts one."""

    def __init__(
        self,
        database: Database,
        passwords: PasswordHasher,
        guard: BruteForceGuard,
        flows: FlowRunner,
        invalidation: Invalidation,
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._guard = guard
        self._flows = flows
        self._invalidation = invalidation

    async def authenticate(
        self,
        realm: Realm,
        given: SubmittedCredentials,
        caller: Caller,
        *,
        now: datetime,
        demands: SignInDemands = SignInDemands(),  # noqa: B008 - a frozen value
    ) -> User:
        """Return the user; raises SignInRefused, Overloaded or StoreUnavailable.

        `demands` is what the realm asks for.
        """
        certificate = demands.flow.certificate
        by_password = certificate is None
        name = given.username or ""
        if certificate is not None:
            name = await asyncio.to_thread(identity_in, caller.certificate, certificate)
        account = await self._find(realm, name)
        password = given.password or Secret("")
        async with self._guard.attempt(realm.brute_force, realm.id, account.guarded_as) as attempt:
            if by_password:
                proved = await self._is_right(realm, account, password, attempt)
            else:
                proved = attempt.admitted and _may_sign_in(account.user)
            user = account.user
            if user is None or not proved:
                raise await self._refusal(realm, account, attempt, caller.address)
            if not user.enabled:
                raise AccountDisabled(user.id)
            client, scopes = caller.client, caller.scopes
            used = {PASSWORD if by_password else _CERTIFICATE}
            sign_in = SignIn(realm, client, scopes, user, account.device, given.code, now, used)
            try:
                await self._flows.run(demands.flow.steps, sign_in)
            except WrongCode as wrong:
                raise await self._refusal(
                    realm, account, attempt, caller.address, second_factor=True
                ) from wrong
            await self._check_set_up(realm, user, account.credential, now, demands.off)
            await attempt.succeeded()
        if by_password and account.credential is not None:
            await self._strengthen(realm, account.credential, password)
        return user

    async def _find(self, realm: Realm, username: str) -> _Account:
        """Find the account with one query, the same for unknown users."""
        name = sought_name(username)
        unknown = "unknown-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        address = name if _may_be_address(realm, name) else None
        found = await self._database.lookups.account(realm.id, name, address)
        if found is None:
            return _Account(None, None, None, unknown)
        password = next((one for one in found.credentials if one.type == PASSWORD), None)
        device = first_device(found.credentials)
        return _Account(found.user, password, device, found.user.id)

    async def _is_right(
        self, realm: Realm, account: _Account, given: Secret, attempt: Attempt
    ) -> bool:
        policy, credential, stored = realm.password_policy, account.credential, None
        if credential is not None and attempt.admitted and _may_sign_in(account.user):
            stored = (credential.credential_data, credential.secret_data)
        right = await self._passwords.check(
            given,
            stored,
            realm_id=realm.id,
            algorithm=policy.hash_algorithm,
            iterations=policy.hash_iterations,
        )
        # An empty password never signs in, even where one was imported.
        return right and credential is not None and bool(given.reveal())

    async def _refusal(
        self,
        realm: Realm,
        account: _Account,
        attempt: Attempt,
        address: str,
        *,
        second_factor: bool = False,
    ) -> InvalidUserCredentials:
        user = account.user
        if user is not None and attempt.admitted and _may_sign_in(user):
            outcome = await attempt.failed(address, second_factor=second_factor)
            if outcome.permanent:
                await self._lock_for_good(realm, user)
            error = (
                EventError.INVALID_USER_CREDENTIALS if user.enabled else EventError.USER_DISABLED
            )
            return InvalidUserCredentials(error, user.id, _lockout(outcome))
        await attempt.passed_over(address)
        if user is not None and attempt.admission is Admission.LOCKED_FOR_GOOD and user.enabled:
            # The gateway that counted the last failure may have died before it wrote this.
            await self._lock_for_good(realm, user)
        return _passed_over(user, attempt.admission)

    async def _lock_for_good(self, realm: Realm, user: User) -> None:
        async with self._database.write() as stores:
            await lock_for_good(stores, realm.id, user.id)
        with suppress(StoreUnavailable):  # the others read the log of changes
            await self._invalidation.publish([user_topic(realm.id, user.id)])

    async def _check_set_up(
        self,
        realm: Realm,
        user: User,
        credential: Credential | None,
        now: datetime,
        off: frozenset[str],
    ) -> None:
        """Raise AccountNotSetUp where a required action is open.

        Actions in `off` are required only where an administrator has set them for the user.
        """
        if UPDATE_PASSWORD not in off and credential and _is_too_old(realm, credential, now):
            await self._demand_new_password(realm, user)
            raise AccountNotSetUp
        unverified = realm.login.verify_email and not user.email_verified
        if user.required_actions or (unverified and VERIFY_EMAIL not in off):
            raise AccountNotSetUp
        if VERIFY_PROFILE in off:
            return
        if not await has_complete_profile(self._database, realm, user):
            raise AccountNotSetUp

    async def _demand_new_password(self, realm: Realm, user: User) -> None:
        if UPDATE_PASSWORD in user.required_actions:
            return
        async with self._database.write() as stores:
            known = await stores.users.get_for_update(realm.id, user.id)
            if known is not None and UPDATE_PASSWORD not in known.required_actions:
                actions = (*known.required_actions, UPDATE_PASSWORD)
                await stores.users.replace(replace(known, required_actions=actions))

    async def _strengthen(self, realm: Realm, credential: Credential, given: Secret) -> None:
        """Hash again where the realm now asks for another cost; the age of the password stays."""
        policy, data = realm.password_policy, (credential.credential_data, credential.secret_data)
        algorithm, iterations = policy.hash_algorithm, policy.hash_iterations
        if not self._passwords.needs_rehash(*data, algorithm=algorithm, iterations=iterations):
            return
        try:
            made, secret = await self._passwords.hash(
                given, realm_id=realm.id, algorithm=algorithm, iterations=iterations
            )
        except Overloaded:
            return  # the next login does it
        async with self._database.write() as stores:
            # A password that was changed meanwhile must not be set back.
            stronger = replace(credential, credential_data=made, secret_data=secret)
            await stores.users.exchange_credential(realm.id, credential, stronger)


def _is_too_old(realm: Realm, credential: Credential, now: datetime) -> bool:
    expires_at = realm.password_policy.expires_at(credential.created_at)
    return expires_at is not None and now > expires_at


def _may_be_address(realm: Realm, name: str) -> bool:
    login = realm.login
    return "@" in name and login.login_with_email_allowed and not login.duplicate_emails_allowed


def _may_sign_in(user: User | None) -> bool:
    """Tell whether the password may be looked at: a service account has none to be guessed."""
    return user is not None and user.service_account_client is None and not is_locked_for_good(user)


def _passed_over(user: User | None, admission: Admission) -> InvalidUserCredentials:
    """Return the refusal where no password was compared, with the reason for operators."""
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
