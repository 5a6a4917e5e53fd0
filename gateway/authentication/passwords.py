"""Passwords: the check, and the rules, the hash and the history of new ones.

Keycloak: 5.3 forceExpiredPasswordChange; attacks: D4, D11; decision 0023
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar
from uuid import uuid4

from gateway.authentication.accounts import Account
from gateway.domain.clock import Clock
from gateway.domain.errors import Overloaded, RealmgateError
from gateway.domain.flows import UPDATE_PASSWORD
from gateway.domain.limits.caches import SizedCache
from gateway.domain.limits.password_hashing import MAX_PASSWORD_LENGTH, HashCost, dearest_costs
from gateway.domain.ports.credentials import PasswordHasher, PasswordMaker
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import PasswordPolicy, Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import FORMER_PASSWORD, PASSWORD, PASSWORD_TYPES, Credential, User
from gateway.password_policies import (
    NO_BLACKLISTS,
    Candidate,
    PasswordBlacklists,
    PasswordRefused,
    check_new_password,
)

_COSTS_KEPT_FOR: Final = timedelta(seconds=1)
"""How old costs may be: for so long refusals take less time than a new dearest hash."""
_COSTS_KEPT_BYTES: Final = 1024 * 1024


class PasswordCosts:
    """The costs of failed checks, by realm; read from the database once in a while."""

    def __init__(self, database: Database, kept_for: timedelta = _COSTS_KEPT_FOR) -> None:
        self._database = database
        self._kept_for = kept_for.total_seconds()
        self._kept: SizedCache[str, tuple[float, tuple[HashCost, ...]]] = SizedCache(
            _COSTS_KEPT_BYTES
        )

    async def of_realm(self, realm_id: str) -> tuple[HashCost, ...]:
        """Return the largest cost of each kind of hash in use; raises StoreUnavailable."""
        now, kept = time.monotonic(), self._kept.get(realm_id)
        if kept is not None and now < kept[0]:
            return kept[1]
        async with self._database.read() as stores:
            costs = dearest_costs(await stores.users.password_costs(realm_id))
        self._kept.put(realm_id, (now + self._kept_for, costs))
        return costs


class PasswordCheck:
    """Compares passwords, for everything that accepts one.

    A failed check costs the same for every name of a realm, whatever there is to compare: a new
    hash, and the dearest hash in use of each kind (attacks: D4, D11; decision 0023). Keycloak: 5.3
    forceExpiredPasswordChange
    """

    def __init__(
        self, passwords: PasswordHasher, database: Database, costs: PasswordCosts | None = None
    ) -> None:
        self._passwords = passwords
        self._database = database
        self._costs = costs or PasswordCosts(database)

    async def is_right(
        self, realm: Realm, account: Account, given: Secret, *, admitted: bool
    ) -> bool:
        """Return whether it is the account's; without `admitted` it is compared with nothing.

        Raises Overloaded and StoreUnavailable.
        """
        policy, credential, stored = realm.password_policy, account.password, None
        if credential is not None and admitted and account.may_sign_in:
            stored = (credential.credential_data, credential.secret_data)
        right = await self._passwords.check_password(
            given,
            stored,
            realm_id=realm.id,
            algorithm=policy.hash_algorithm,
            iterations=policy.hash_iterations,
            costs=await self._costs.of_realm(realm.id),
        )
        # An empty password never signs in, even where one was imported.
        return right and credential is not None and bool(given.reveal())

    async def strengthen(self, realm: Realm, credential: Credential, given: Secret) -> None:
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
            return  # the next sign-in does it
        async with self._database.write() as stores:
            # A password that was changed meanwhile must not be set back.
            stronger = replace(credential, credential_data=made, secret_data=secret)
            await stores.users.exchange_credential(realm.id, credential, stronger)


_ATTEMPTS: Final = 10
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PasswordChange:
    """The credentials to store, and those to remove."""

    stored: tuple[Credential, ...]
    """The new password comes first."""
    removed: tuple[Credential, ...]

    @property
    def current(self) -> Credential:
        """The new password."""
        return self.stored[0]


@dataclass(frozen=True, slots=True)
class NewPasswords:
    """Checks and hashes new passwords of administrators, imports and users alike."""

    clock: Clock
    blacklists: PasswordBlacklists = NO_BLACKLISTS

    async def first(
        self, hasher: PasswordMaker, realm: Realm, user: User, password: Secret
    ) -> Credential:
        """Return the password of a new user; raises PasswordRefused."""
        await check_new_password(realm.password_policy, self._candidate(user, password))
        return await self._hashed(hasher, realm, user, password)

    async def changed(
        self,
        hasher: PasswordHasher,
        realm: Realm,
        user: User,
        password: Secret,
        held: Sequence[Credential],
    ) -> PasswordChange:
        """Return the change for a user with the credentials `held`; raises PasswordRefused."""
        policy = realm.password_policy
        current = next((one for one in held if one.type == PASSWORD), None)
        former = _newest_first(held)
        candidate = replace(
            self._candidate(user, password),
            current=_StoredPasswords(current, hasher, realm) if current is not None else None,
            former=tuple(_StoredPasswords(one, hasher, realm) for one in former),
        )
        await check_new_password(policy, candidate)
        fresh = await self._hashed(hasher, realm, user, password)
        if current is None:
            return PasswordChange((fresh,), ())
        replaced = replace(current, id=str(uuid4()), type=FORMER_PASSWORD)
        surplus = set(_surplus(policy, [replaced, *former], self.clock.now()))
        successor = replace(fresh, id=current.id, priority=current.priority)
        return PasswordChange(
            (successor,) if replaced.id in surplus else (successor, replaced),
            tuple(one for one in former if one.id in surplus),
        )

    def _candidate(self, user: User, password: Secret) -> Candidate:
        return Candidate(
            password,
            user.username,
            self.clock.now(),
            email=user.email,
            blacklists=self.blacklists,
        )

    async def _hashed(
        self, hasher: PasswordMaker, realm: Realm, user: User, password: Secret
    ) -> Credential:
        policy, now = realm.password_policy, self.clock.now()
        credential_data, secret_data = await hasher.hash(
            password,
            realm_id=realm.id,
            algorithm=policy.hash_algorithm,
            iterations=policy.hash_iterations,
        )
        return Credential(
            id=str(uuid4()),
            user_id=user.id,
            type=PASSWORD,
            created_at=now,
            set_at=now,
            credential_data=credential_data,
            secret_data=secret_data,
        )


@dataclass(frozen=True, slots=True)
class _StoredPasswords:
    """A stored password, for the rules that compare with it."""

    credential: Credential
    hasher: PasswordHasher
    realm: Realm

    @property
    def made_at(self) -> datetime:
        return self.credential.created_at

    async def is_it(self, password: Secret) -> bool:
        return await self.hasher.check_password(
            password,
            (self.credential.credential_data, self.credential.secret_data),
            realm_id=self.realm.id,
            algorithm=self.realm.password_policy.hash_algorithm,
            iterations=self.realm.password_policy.hash_iterations,
        )


def _newest_first(held: Sequence[Credential]) -> list[Credential]:
    former = [one for one in held if one.type == FORMER_PASSWORD]
    return sorted(former, key=lambda one: one.created_at, reverse=True)


def _surplus(policy: PasswordPolicy, former: Sequence[Credential], now: datetime) -> Iterator[str]:
    """Yield the ids of the former passwords, newest first, that no rule needs any more."""
    for place, one in enumerate(former):
        if place >= policy.remembered and now - one.created_at >= policy.remembered_for:
            yield one.id


class ChangedMeanwhile(RealmgateError):
    """The state that a change was prepared for has changed."""


@dataclass(frozen=True, slots=True)
class _PasswordBasis:
    """The state that a prepared password depends on."""

    policy: PasswordPolicy
    names: tuple[str, str | None]
    held: frozenset[Credential]


@dataclass(frozen=True, slots=True)
class PreparedPassword:
    """A hashed password that meets the rules, and the state that it was prepared for."""

    change: PasswordChange
    basis: _PasswordBasis

    def require_current(self, realm: Realm, user: User, held: Sequence[Credential]) -> None:
        """Raise ChangedMeanwhile where policy, names or stored passwords are other ones now."""
        if _basis_of_password(realm, user, held) != self.basis:
            raise ChangedMeanwhile("policy, names or password have changed")


class PasswordChanges:
    """Prepares new passwords, and stores those of existing users.

    Every password in clear text passes here; a credential that comes hashed does not. Former
    passwords are credentials of another type, as many and as long as a rule needs them.

    A hash takes long, so it is made before the transaction, which compares what it was made for. If
    another request was faster, all of it is repeated: no password is overwritten unchecked, and the
    history includes it. Keycloak: 5.2 passwordHistory, 5.5 where rules apply;
    PasswordCredentialProvider.createCredential
    """

    def __init__(self, gate: NewPasswords, hasher: PasswordHasher) -> None:
        self._gate = gate
        self._hasher = hasher

    async def prepare(
        self, realm: Realm, user: User, held: Sequence[Credential], password: Secret
    ) -> PreparedPassword:
        """Return the password for a user with the credentials `held`; raises PasswordRefused."""
        change = await self._gate.changed(self._hasher, realm, user, password, held)
        return PreparedPassword(change, _basis_of_password(realm, user, held))

    async def store(
        self, stores: Stores, realm: Realm, user: User, prepared: PreparedPassword
    ) -> None:
        """Store the password of a user whose row is locked; raises ChangedMeanwhile."""
        prepared.require_current(realm, user, await stores.users.credentials(realm.id, user.id))
        for credential in prepared.change.stored:
            await stores.users.set_credential(realm.id, credential)
        for credential in prepared.change.removed:
            await stores.users.remove_credential(realm.id, credential)


def require_hashable(password: Secret) -> None:
    """Raise PasswordRefused for a password that is too long to be hashed, despite the policy."""
    if len(password.reveal()) > MAX_PASSWORD_LENGTH:
        raise PasswordRefused("MaxLength", "maximum length {0}.", MAX_PASSWORD_LENGTH)


def with_update_password(user: User, *, temporary: bool) -> User:
    """Return the user, who has to change the new password if it is `temporary`."""
    others = tuple(name for name in user.required_actions if name != UPDATE_PASSWORD)
    due = (UPDATE_PASSWORD,) if temporary else ()
    return replace(user, required_actions=(*others, *due))


async def until_unchanged(attempt: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `attempt`, repeated while others are faster; raises Overloaded."""
    for _ in range(_ATTEMPTS):
        try:
            return await attempt()
        except ChangedMeanwhile:
            continue
    raise Overloaded


def _basis_of_password(realm: Realm, user: User, held: Sequence[Credential]) -> _PasswordBasis:
    passwords = frozenset(one for one in held if one.type in PASSWORD_TYPES)
    return _PasswordBasis(realm.password_policy, (user.username, user.email), passwords)
