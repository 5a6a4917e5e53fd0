"""Codes of one-time passwords, as Keycloak stores them: two JSON strings, the key in clear text.

The key of the HMAC is the stored text itself, or its decoded bytes if the credential marks it as
Base32. Spec: RFC 4226 §5.3, RFC 6238 §4. Keycloak: OTPCredentialModel; 6 (one-time passwords)
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from pyotp import HOTP

from gateway.domain.errors import SecretUnreadable
from gateway.domain.ports.credentials import CodeMatch
from gateway.domain.realm import OtpAlgorithm, OtpType
from gateway.domain.secrets import Secret

_DIGESTS: Final = {
    OtpAlgorithm.HMAC_SHA1: hashlib.sha1,
    OtpAlgorithm.HMAC_SHA256: hashlib.sha256,
    OtpAlgorithm.HMAC_SHA512: hashlib.sha512,
}
_DIGITS: Final = range(6, 11)
_PYOTP_KEY: Final = 14
_LONGEST_KEY: Final = 512
_LONGEST_PERIOD: Final = 86_400
_LAST_COUNTER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class _Stored:
    type: OtpType
    algorithm: OtpAlgorithm
    digits: int
    counter: int
    period: int
    data: dict[str, Any]
    key: bytes = field(repr=False)

    def code(self, step: int) -> str:
        # HMAC pads its key with zeros (RFC 2104 §2); pyotp refuses a short one.
        secret = base64.b32encode(self.key.ljust(_PYOTP_KEY, b"\0")).decode("ascii")
        return HOTP(secret, digits=self.digits, digest=_DIGESTS[self.algorithm]).at(step)


class PyOtp:
    """OneTimePasswords by pyotp."""

    def match(
        self,
        code: Secret,
        credential_data: str,
        secret_data: str,
        *,
        look_ahead_window: int,
        now: datetime,
        reusable: bool,
    ) -> CodeMatch | None:
        stored = _parse_stored(credential_data, secret_data)
        given = code.reveal().encode("utf-8", "surrogatepass")
        may_repeat = reusable and stored.type is OtpType.TOTP
        first = 0 if may_repeat else _first(stored, look_ahead_window, now)
        for step in _steps(stored, look_ahead_window, now):
            if hmac.compare_digest(stored.code(step).encode("ascii"), given):
                if step < first:
                    return None
                return CodeMatch(step, None if may_repeat else _advanced(stored, step))
        return None


def _steps(stored: _Stored, window: int, now: datetime) -> Iterator[int]:
    if stored.type is OtpType.HOTP:
        yield from range(stored.counter, stored.counter + window + 1)
        return
    present = int(now.timestamp()) // stored.period
    yield present
    for distance in range(1, window + 1):
        yield max(0, present - distance)
        yield present + distance


def _first(stored: _Stored, window: int, now: datetime) -> int:
    """Return the first acceptable step; a counter beyond any code is a policy's initial one."""
    latest = int(now.timestamp()) // stored.period + window
    counted = stored.type is OtpType.HOTP
    return stored.counter if counted or stored.counter <= latest + 1 else 0


def _advanced(stored: _Stored, step: int) -> str:
    """Return credential data for later codes; Keycloak ignores the counter of TOTP."""
    return json.dumps(stored.data | {"counter": step + 1}, separators=(",", ":"))


def _parse_stored(credential_data: str, secret_data: str) -> _Stored:
    try:
        made = json.loads(credential_data)
        stored = _Stored(
            type=OtpType(made["subType"]),
            algorithm=OtpAlgorithm(made.get("algorithm") or OtpAlgorithm.HMAC_SHA1),
            digits=int(made["digits"]),
            counter=int(made.get("counter") or 0),
            period=int(made.get("period") or 30),
            data=made,
            key=_key(json.loads(secret_data)["value"], made.get("secretEncoding")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SecretUnreadable("a stored one-time password is not in Keycloak's format") from error
    if not (
        stored.digits in _DIGITS
        and 0 <= stored.counter <= _LAST_COUNTER
        and 0 < stored.period <= _LONGEST_PERIOD
        and 0 < len(stored.key) <= _LONGEST_KEY
    ):
        raise SecretUnreadable("a stored one-time password has sizes outside of all reason")
    return stored


def _key(text: str, encoding: str | None) -> bytes:
    if encoding is None:
        return text.encode()
    if encoding != "BASE32":
        raise ValueError("an encoding that is not known")
    return base64.b32decode(text + "=" * (-len(text) % 8), casefold=True)
