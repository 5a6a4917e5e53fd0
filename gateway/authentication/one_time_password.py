"""The check of a one-time password: right within the realm's window, and used once.

A counted code advances the stored counter and is marked as used before: of two gateways that
compare it at once, one learns that the other was first.
Spec: RFC 4226 §7.2, RFC 6238 §5.2. Keycloak: 6, 1.5 (`totp`)
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from gateway.domain.one_time_passwords import CodeMatch
from gateway.domain.ports.one_time_passwords import OneTimeMarks, OneTimePasswords
from gateway.domain.ports.storage import Database
from gateway.domain.realm import OtpPolicy, Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential

OTP: Final = "otp"
"""The type of a credential."""


class OneTimePasswordCheck:
    """Compares codes, for everything that accepts one."""

    def __init__(self, codes: OneTimePasswords, marks: OneTimeMarks, database: Database) -> None:
        self._codes = codes
        self._marks = marks
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
        """Tell whether the code may be taken, which it may once.

        One that is not `admitted` is computed, not taken.

        Raises StoreUnavailable, or SecretUnreadable where the credential cannot be used.
        """
        match = self._codes.match(
            code or Secret(""),
            credential.credential_data,
            credential.secret_data,
            look_ahead_window=realm.otp_policy.look_ahead_window,
            now=now,
        )
        if match is None or not admitted:
            return False
        if not await self._is_first(realm.id, realm.otp_policy, credential, match):
            return False
        if match.advanced is not None:
            await self._advance(realm.id, credential, match.advanced)
        return True

    async def enrolled(
        self, realm: Realm, credential: Credential, code: Secret, now: datetime
    ) -> Credential | None:
        """Return a new credential as it is to be stored; None where the code is not its own.

        The code is marked as used, so no sign-in accepts it. Raises StoreUnavailable.
        """
        match = self._codes.match(
            code,
            credential.credential_data,
            credential.secret_data,
            look_ahead_window=realm.otp_policy.look_ahead_window,
            now=now,
        )
        if match is None or not await self._is_first(realm.id, realm.otp_policy, credential, match):
            return None
        if match.advanced is None:
            return credential
        return replace(credential, credential_data=match.advanced)

    async def _is_first(
        self, realm_id: str, policy: OtpPolicy, credential: Credential, match: CodeMatch
    ) -> bool:
        if policy.code_reusable and match.advanced is None:
            return True
        name = f"otp:{credential.id}:{match.step}"
        return await self._marks.claim(realm_id, name, match.accepted_for)

    async def _advance(self, realm_id: str, credential: Credential, advanced: str) -> None:
        async with self._database.write() as stores:
            # A device that was removed or replaced meanwhile stays as it is.
            moved = replace(credential, credential_data=advanced)
            await stores.users.exchange_credential(realm_id, credential, moved)
