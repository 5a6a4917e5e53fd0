"""The check of a password, and its stronger hash afterwards.

A failed check costs the same for every name of a realm, whatever there is to compare: a new hash,
and the dearest hash in use of each kind (attacks: D4, D11; decision 0023). Keycloak: 5.3
"""

import time
from dataclasses import replace
from datetime import timedelta
from typing import Final

from gateway.authentication.accounts import Account
from gateway.domain.errors import Overloaded
from gateway.domain.limits.caches import SizedCache
from gateway.domain.limits.password_hashing import HashCost, dearest_costs
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential

_KEPT_FOR: Final = timedelta(seconds=1)
"""How old costs may be: for so long refusals take less time than a new dearest hash."""
_KEPT_BYTES: Final = 1024 * 1024


class PasswordCosts:
    """The costs of failed checks, by realm; read from the database once in a while."""

    def __init__(self, database: Database, kept_for: timedelta = _KEPT_FOR) -> None:
        self._database = database
        self._kept_for = kept_for.total_seconds()
        self._kept: SizedCache[str, tuple[float, tuple[HashCost, ...]]] = SizedCache(_KEPT_BYTES)

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
    """Compares passwords, for everything that accepts one."""

    def __init__(
        self, passwords: PasswordHasher, database: Database, costs: PasswordCosts | None = None
    ) -> None:
        self._passwords = passwords
        self._database = database
        self._costs = costs or PasswordCosts(database)

    async def is_right(
        self, realm: Realm, account: Account, given: Secret, *, admitted: bool
    ) -> bool:
        """Return whether it is the account's; what is not `admitted` is compared with nothing.

        Raises Overloaded and StoreUnavailable.
        """
        policy, credential, stored = realm.password_policy, account.password, None
        if credential is not None and admitted and account.may_sign_in:
            stored = (credential.credential_data, credential.secret_data)
        right = await self._passwords.check(
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
