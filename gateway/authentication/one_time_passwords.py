"""One-time passwords: their check within the realm's window, and the enrollment of devices.

Spec: RFC 4226 §4, §7.2, RFC 6238 §5.2. Keycloak: 6 (one-time passwords), 1.5 (`totp`), 16.1
required actions; attacks: D7
"""

import base64
import json
import re
import secrets
import string
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, quote_plus, urlencode
from uuid import uuid4

from gateway.domain.authentication import OtpEnrollment
from gateway.domain.ports.credentials import CodeMatch, OneTimePasswords
from gateway.domain.ports.storage import Database
from gateway.domain.realm import OtpPolicy, OtpType, Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User, next_priority

OTP: Final = "otp"
"""The type of a credential."""


class OneTimePasswordCheck:
    """Compares codes, for everything that accepts one.

    An accepted code advances the stored credential: of gateways that compare it at once, one stores
    the step, and it stays used where Redis loses its data (attacks: D7). Spec: RFC 4226 §7.2, RFC
    6238 §5.2. Keycloak: 6 (one-time passwords), 1.5 (`totp`)
    """

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


_SECRET_SIGNS: Final = string.ascii_letters + string.digits
_SECRET_LENGTH: Final = 20
_SECRET_TAG: Final = re.compile(r"<[^>]*>")


def new_otp_secret() -> str:
    """Return 20 letters and digits, 119 bits; their bytes are the key."""
    return "".join(secrets.choice(_SECRET_SIGNS) for _ in range(_SECRET_LENGTH))


def render_enrollment(realm: Realm, user: User, secret: str, *, needs_label: bool) -> OtpEnrollment:
    """Return the values of the page that sets up a device.

    Algorithm, digits and period are those of the realm's policy at this moment; the credential
    keeps them. Spec: RFC 4226 §4. Keycloak: 6 (one-time passwords), 16.1 required actions
    """
    policy, shown = realm.otp_policy, _base32(secret)
    return OtpEnrollment(
        secret=secret,
        shown_secret=" ".join(shown[place : place + 4] for place in range(0, len(shown), 4)),
        uri=_uri(realm, user, shown),
        counted=policy.type is OtpType.HOTP,
        algorithm=_hash_name(policy),
        digits=policy.digits,
        period=int(policy.period.total_seconds()),
        counter=policy.initial_counter,
        needs_label=needs_label,
    )


def new_otp_credential(
    policy: OtpPolicy, user: User, secret: str, held: Sequence[Credential], now: datetime
) -> Credential:
    """Return the credential of a device, behind the credentials that the user has."""
    data = {
        "subType": (policy.type or OtpType.TOTP).value,
        "digits": policy.digits,
        "counter": policy.initial_counter,
        "period": int(policy.period.total_seconds()),
        "algorithm": policy.algorithm.value,
    }
    return Credential(
        id=str(uuid4()),
        user_id=user.id,
        type=OTP,
        created_at=now,
        credential_data=_compact_json(data),
        secret_data=_compact_json({"value": secret}),
        priority=next_priority(held),
    )


def _base32(secret: str) -> str:
    return base64.b32encode(secret.encode()).decode("ascii").rstrip("=")


def _hash_name(policy: OtpPolicy) -> str:
    return policy.algorithm.value.removeprefix("Hmac")


def _uri(realm: Realm, user: User, shown: str) -> str:
    """Return the URI that the QR code contains."""
    policy, kind = realm.otp_policy, realm.otp_policy.type or OtpType.TOTP
    issuer = _SECRET_TAG.sub("", realm.display_name or realm.name).replace(":", " ").strip()
    by_email = realm.login.registration_email_as_username and user.email
    account = user.email if by_email and user.email else user.username
    pairs: dict[str, Any] = {
        "secret": shown,
        "digits": policy.digits,
        "algorithm": _hash_name(policy),
        "issuer": issuer,
    }
    if kind is OtpType.HOTP:
        pairs["counter"] = policy.initial_counter
    else:
        pairs["period"] = int(policy.period.total_seconds())
    query = urlencode(pairs, quote_via=quote)
    return f"otpauth://{kind.value}/{quote(issuer, safe='')}:{quote_plus(account)}?{query}"


def _compact_json(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))
