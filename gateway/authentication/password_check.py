"""The check of a password, and its stronger hash afterwards.

A check costs one hash at the realm's cost, whatever there is to compare (attacks: D4, D11).
Keycloak: 5.3
"""

from dataclasses import replace

from gateway.authentication.accounts import Account
from gateway.domain.errors import Overloaded
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential


class PasswordCheck:
    """Compares passwords, for everything that accepts one."""

    def __init__(self, passwords: PasswordHasher, database: Database) -> None:
        self._passwords = passwords
        self._database = database

    async def is_right(
        self, realm: Realm, account: Account, given: Secret, *, admitted: bool
    ) -> bool:
        """Return whether it is the account's; what is not `admitted` is compared with nothing.

        Raises Overloaded.
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
