"""Keys that no user has, shown for a name without keys.

A page that asks a named user for a key lists the ids of the keys. Without decoys it would reveal
which names have an account with keys. Decoys are derived from a secret, the realm and the name, so
a name has the same ones on every page and gateway. Spec: WebAuthn Level 3 §14.6.2
"""

import hmac
from collections.abc import Iterator
from typing import Final

from gateway.domain import base64url
from gateway.domain.authentication import KeyChoice
from gateway.domain.user_profile.name_keys import name_key
from gateway.domain.users import sought_name

PURPOSE: Final = "webauthn-decoys"
"""What the secret is derived for."""
_DIGEST: Final = "sha256"
_MODELS: Final = (
    *((16, ("hybrid", "internal")),) * 5,
    *((20, ("hybrid", "internal")),) * 4,
    *((32, ("internal",)),) * 3,
    *((32, ("hybrid", "internal")),) * 2,
    (48, ("nfc", "usb")),
    (64, ("nfc", "usb")),
)
"""Bytes of the ids and transports of common authenticators: password managers, phones, laptops,
security keys. One of sixteen is taken."""
_SECOND_KEY: Final = 64
"""Of 256 names this many have a second key."""


class KeyDecoys:
    """Derives decoys from a secret of 32 bytes."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def keys(self, realm_id: str, kind: str, name: str) -> tuple[KeyChoice, ...]:
        """Return the decoys of a name that was entered, for keys of a type."""
        text = f"{realm_id}\0{kind}\0{name_key(sought_name(name))}"
        seed = hmac.digest(self._secret, text.encode("utf-8", "surrogatepass"), _DIGEST)
        count = 2 if seed[0] < _SECOND_KEY else 1
        return tuple(_decoy(seed, number) for number in range(count))


def _decoy(seed: bytes, number: int) -> KeyChoice:
    length, transports = _MODELS[seed[1 + number] % len(_MODELS)]
    key_id = b"".join(_blocks(seed, number))[:length]
    return KeyChoice(base64url.encode(key_id), transports=transports)


def _blocks(seed: bytes, number: int) -> Iterator[bytes]:
    """Yield 64 bytes that look like the id of an authenticator's key."""
    for block in range(2):
        yield hmac.digest(seed, bytes((number, block)), _DIGEST)
