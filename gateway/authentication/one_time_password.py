"""The check of a one-time password: right within the realm's window, and used once.

An accepted code advances the stored credential: of gateways that compare it at once, one stores
the step, and it stays used where Redis loses its data (attacks: D7).
Spec: RFC 4226 §7.2, RFC 6238 §5.2. Keycloak: 6, 1.5 (`totp`)
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from gateway.domain.one_time_passwords import CodeMatch
from gateway.domain.ports.one_time_passwords import OneTimePasswords
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential

OTP: Final = "otp"
"""The type of a credential."""


class OneTimePasswordCheck:
    """Compares codes, for everything that accepts one."""

    def __init__(self, codes: OneTimePasswords, database: Database) -> None:
        self._codes = codes
        self._database = database

    async def is_right(
        self,
        realm: Realm,
        credential: Credential,
        code: Secret | None,
        now: datetime,
        *,
        admitted: bool = True,
    ) -> bool:
        """Return whether the code is right, and use it: each one is accepted once.

        A code that is not `admitted` is computed and never accepted. Raises StoreUnavailable, or
        SecretUnreadable where the credential cannot be used.
        """
        match = self._match(realm, credential, code or Secret(""), now)
        if match is None or not admitted:
            return False
        if match.advanced is None:
            return True
        return await self._advance(realm.id, credential, match.advanced)

    def enrolled(
        self, realm: Realm, credential: Credential, code: Secret, now: datetime
    ) -> Credential | None:
        """Return a new credential as it is to be stored; None where the code is not its own.

        The code is used, so no sign-in accepts it.
        """
        match = self._match(realm, credential, code, now)
        if match is None:
            return None
        if match.advanced is None:
            return credential
        return replace(credential, credential_data=match.advanced)

    def _match(
        self, realm: Realm, credential: Credential, code: Secret, now: datetime
    ) -> CodeMatch | None:
        return self._codes.match(
            code,
            credential.credential_data,
            credential.secret_data,
            look_ahead_window=realm.otp_policy.look_ahead_window,
            now=now,
            reusable=realm.otp_policy.code_reusable,
        )

    async def _advance(self, realm_id: str, credential: Credential, advanced: str) -> bool:
        """Store the step; False where the device was used, removed or replaced meanwhile."""
        async with self._database.write() as stores:
            moved = replace(credential, credential_data=advanced)
            return await stores.users.exchange_credential(realm_id, credential, moved)
