"""Devices for one-time passwords, and their codes, for tests."""

import base64
import json

import pyotp

from tests.support.stored_values import NOW

KEY = "12345678901234567890"


def device(kind: str = "totp", key: str = KEY, **fields: object) -> dict[str, object]:
    """Return the fields of a stored one-time password."""
    data = {"subType": kind, "digits": 6, "counter": 0, "period": 30, "algorithm": "HmacSHA1"}
    return {
        "id": f"device-{kind}-{key}",
        "type": "otp",
        "credential_data": json.dumps(data),
        "secret_data": json.dumps({"value": key}),
    } | fields


def code(steps: int = 0, key: str = KEY) -> str:
    """Return the code of the time that all gateways read, or one some steps off."""
    return pyotp.TOTP(base32(key)).at(NOW, counter_offset=steps)


def counted(counter: int) -> str:
    """Return a counted code."""
    return pyotp.HOTP(base32(KEY)).at(counter)


def base32(key: str) -> str:
    """Return a key as pyotp takes it."""
    return base64.b32encode(key.encode()).decode()
