"""A new device for one-time codes: its secret, its URI, and the credential that is stored.

Algorithm, digits and period are those of the realm's policy at this moment; the credential keeps
them. Spec: RFC 4226 §4. Keycloak: 6, 16.1
"""

import base64
import json
import re
import secrets
import string
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, quote_plus, urlencode
from uuid import uuid4

from gateway.authentication.one_time_password import OTP
from gateway.domain.authentication import OtpEnrollment
from gateway.domain.realm import OtpPolicy, OtpType, Realm
from gateway.domain.users import Credential, User, next_priority

_SIGNS: Final = string.ascii_letters + string.digits
_SECRET_LENGTH: Final = 20
_TAG: Final = re.compile(r"<[^>]*>")


def new_secret() -> str:
    """Return 20 letters and digits, 119 bits; their bytes are the key."""
    return "".join(secrets.choice(_SIGNS) for _ in range(_SECRET_LENGTH))


def enrollment(realm: Realm, user: User, secret: str, *, needs_label: bool) -> OtpEnrollment:
    """Return what the page shows."""
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


def new_credential(
    policy: OtpPolicy, user: User, secret: str, held: Sequence[Credential], now: datetime
) -> Credential:
    """Return the credential of a device, behind those that the user has."""
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
        credential_data=_json(data),
        secret_data=_json({"value": secret}),
        priority=next_priority(held),
    )


def _base32(secret: str) -> str:
    return base64.b32encode(secret.encode()).decode("ascii").rstrip("=")


def _hash_name(policy: OtpPolicy) -> str:
    return policy.algorithm.value.removeprefix("Hmac")


def _uri(realm: Realm, user: User, shown: str) -> str:
    """Return the URI that the QR code contains."""
    policy, kind = realm.otp_policy, realm.otp_policy.type or OtpType.TOTP
    issuer = _TAG.sub("", realm.display_name or realm.name).replace(":", " ").strip()
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


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))
