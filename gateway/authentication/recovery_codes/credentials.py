"""Recovery codes as a credential stores them: hashed, used once each, in the order of the list.

The two JSON strings are Keycloak's: `totalCodes`, `remainingCodes` and the name of the hash,
and `codes` with `number` and `encodedHashedValue`, the SHA-512 of the code in Base64. Credentials
of Keycloak before 26.2 call the same hash `RS512`.
Keycloak: RecoveryAuthnCodesCredentialModel, RecoveryAuthnCodesUtils (26.7), 16.1
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

from gateway.domain.errors import SecretUnreadable
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, next_priority

RECOVERY_CODES: Final = "recovery-authn-codes"
"""The type of a credential."""
_COUNT: Final = 12
_LENGTH: Final = 12
_SIGNS: Final = "ABCDEFGHIJKLMNPQRSTUVWXYZ123456789"
"""Without zero and the letter O, which look alike."""


@dataclass(frozen=True, slots=True)
class RecoveryCodes:
    """The codes of a credential that were not used: pairs of number, from 1, and hash."""

    left: tuple[tuple[int, str], ...] = field(repr=False)
    data: Mapping[str, Any]
    """What the credential says of its codes."""

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


def new_codes() -> tuple[str, ...]:
    """Return 12 codes of 12 letters and digits, 61 bits each."""
    return tuple("".join(secrets.choice(_SIGNS) for _ in range(_LENGTH)) for _ in range(_COUNT))


def new_credential(
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
