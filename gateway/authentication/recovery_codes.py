"""Recovery codes: how a credential stores them, and the check that uses them up.

Keycloak: RecoveryAuthnCodesCredentialModel, RecoveryAuthnCodesFormAuthenticator
"""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Self
from uuid import uuid4

from gateway.authentication.account_updates import AccountUpdate, AccountUpdates
from gateway.domain.errors import SecretUnreadable
from gateway.domain.flows import CONFIGURE_RECOVERY_CODES, SignInRules
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User, next_priority

RECOVERY_CODES: Final = "recovery-authn-codes"
"""The type of a credential."""
_CODE_COUNT: Final = 12
_CODE_LENGTH: Final = 12
_CODE_SIGNS: Final = "ABCDEFGHIJKLMNPQRSTUVWXYZ123456789"
"""Without zero and the letter O, which look alike."""


@dataclass(frozen=True, slots=True)
class RecoveryCodes:
    """The codes of a credential that were not used: pairs of number, from 1, and hash.

    The two JSON strings are Keycloak's: `totalCodes`, `remainingCodes` and the name of the hash,
    and `codes` with `number` and `encodedHashedValue`, the SHA-512 of the code in Base64.
    Credentials of Keycloak before 26.2 call the same hash `RS512`. Keycloak:
    RecoveryAuthnCodesCredentialModel, RecoveryAuthnCodesUtils (26.7), 16.1 required actions
    """

    left: tuple[tuple[int, str], ...] = field(repr=False)
    data: Mapping[str, Any]
    """The list of codes that a credential describes."""

    @classmethod
    def of(cls, credential: Credential) -> Self:
        """Return those of a credential; raises SecretUnreadable."""
        try:
            codes = json.loads(credential.secret_data)["codes"]
            found = ((int(code["number"]), str(code["encodedHashedValue"])) for code in codes)
            return cls(tuple(found), dict(json.loads(credential.credential_data)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SecretUnreadable("stored recovery codes are not in Keycloak's format") from error

    @property
    def number(self) -> int:
        """The number of the next code, 1 where none is left."""
        return self.left[0][0] if self.left else 1

    def is_next(self, code: Secret) -> bool:
        """Return whether `code` is the next one, however its signs are grouped."""
        if not self.left:
            return False
        # Keycloak reads Base64 that is broken into lines, as older versions have written it.
        expected = "".join(self.left[0][1].split())
        return hmac.compare_digest(_hashed(code).encode("ascii"), expected.encode())

    def without_next(self, credential: Credential) -> Credential:
        """Return the credential after its next code was used."""
        left = self.left[1:]
        data = {**self.data, "remainingCodes": len(left)}
        return replace(credential, credential_data=_json(data), secret_data=_secret_data(left))


def new_recovery_codes() -> tuple[str, ...]:
    """Return 12 codes of 12 letters and digits, 61 bits each."""
    return tuple(
        "".join(secrets.choice(_CODE_SIGNS) for _ in range(_CODE_LENGTH))
        for _ in range(_CODE_COUNT)
    )


def new_recovery_codes_credential(
    user_id: str, codes: Sequence[str], others: Sequence[Credential], generated_at: datetime
) -> Credential:
    """Return the credential of a list, behind the user's other credentials."""
    data = {
        "algorithm": "SHA-512",
        "totalCodes": len(codes),
        "remainingCodes": len(codes),
    }
    left = tuple((number, _hashed(Secret(code))) for number, code in enumerate(codes, 1))
    return Credential(
        id=str(uuid4()),
        user_id=user_id,
        type=RECOVERY_CODES,
        created_at=generated_at,
        credential_data=_json(data),
        secret_data=_secret_data(left),
        priority=next_priority(others),
    )


def _hashed(code: Secret) -> str:
    plain = "".join(code.reveal().replace("-", " ").split()).upper()
    # Salt and stretching are for secrets that people choose: a code is drawn from 2^61.
    digest = hashlib.sha512(plain.encode("utf-8", "surrogatepass")).digest()
    return base64.b64encode(digest).decode("ascii")


def _secret_data(codes: Sequence[tuple[int, str]]) -> str:
    stored = [{"number": number, "encodedHashedValue": value} for number, value in codes]
    return _json({"codes": stored})


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))


class RecoveryCodeCheck:
    """Compares recovery codes, and uses them up.

    Of two gateways that are given the same code at once, one finds that the list has changed. The
    user who has few codes left has to generate new ones. Keycloak requires that of a user who has
    none left and warns in the account console below the threshold. Keycloak:
    RecoveryAuthnCodesFormAuthenticator, RecoveryAuthnCodesCredentialProvider (26.7), 16.1 required
    actions
    """

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    async def use(
        self, entry: RealmEntry, credential: Credential, code: Secret, *, admitted: bool
    ) -> User | None:
        """Return the user as stored after the code was used; None where it is not the next one.

        One that is not `admitted` is compared, not used. Raises StoreUnavailable, or
        SecretUnreadable where the credential cannot be used.
        """
        codes = RecoveryCodes.of(credential)
        if not codes.is_next(code) or not admitted:
            return None
        realm, after = entry.realm, codes.without_next(credential)
        async with self._updates.begin_update(realm.id, credential.user_id) as update:
            users = update.stores.users
            if not await users.exchange_credential(realm.id, credential, after):
                return None
            left = len(codes.left) - 1
            if not left:
                await users.remove_credential(realm.id, after)
            return await _with_action(update, entry, left)


async def _with_action(update: AccountUpdate, entry: RealmEntry, left: int) -> User:
    """Return the user, who has to generate codes where few are `left`; this is stored."""
    user, actions = update.user, update.user.required_actions
    if left >= codes_threshold(entry.realm, entry.sign_in) or CONFIGURE_RECOVERY_CODES in actions:
        return user
    if not entry.sign_in.offers(CONFIGURE_RECOVERY_CODES):
        return user
    due = replace(user, required_actions=(*actions, CONFIGURE_RECOVERY_CODES))
    await update.replace(due)
    return due


def codes_threshold(realm: Realm, rules: SignInRules) -> int:
    """Return how many codes a user may have left without having to generate new ones."""
    own = rules.recovery_codes_threshold
    return max(1, realm.password_policy.recovery_codes_threshold if own is None else own)
