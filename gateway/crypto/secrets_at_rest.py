"""Secrets in the database: sealed with AES-256-GCM under the operator's key.

A sealed value is `v1.<key id>.<base64url(nonce, ciphertext, tag)>`. The context is authenticated
with it, so a value moved to another row or column does not open. The key id (first 8 hex digits of
SHA-256 of the key) distinguishes a missing key from an altered value. To change the key, put the
new one first and keep the old: the first seals, all of them open.
Spec: NIST SP 800-38D §8.2.2 (random 96-bit nonces, under 2^32 values for each key)
"""

import hashlib
import hmac
import re
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gateway.domain import base64url
from gateway.domain.errors import SecretUnreadable

_VERSION = "v1"
_NONCE_BYTES = 12
_SEALED = re.compile(r"v1\.([0-9a-f]{8})\.([A-Za-z0-9_-]+)", re.ASCII)


def key_id(key: bytes) -> str:
    """Return the public name of an encryption key."""
    return hashlib.sha256(key).hexdigest()[:8]


class AesGcmSecrets:
    """SecretsAtRest under 32-byte `keys`, newest first: that one seals, all of them open."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self._ciphers = {key_id(key): AESGCM(key) for key in keys}
        self._sealing_id = key_id(keys[0])
        self._oldest = keys[-1]

    def seal(self, plaintext: str, context: str) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        encrypted = self._ciphers[self._sealing_id].encrypt(
            nonce, plaintext.encode("utf-8", "surrogatepass"), context.encode()
        )
        return f"{_VERSION}.{self._sealing_id}.{base64url.encode(nonce + encrypted)}"

    def derive_key(self, purpose: str) -> bytes:
        return hmac.digest(self._oldest, f"derived:{purpose}".encode(), "sha256")

    def unseal(self, sealed: str, context: str) -> str:
        match = _SEALED.fullmatch(sealed)
        if match is None:
            raise SecretUnreadable(f"the value for {context} is not a sealed value of ours")
        cipher = self._ciphers.get(match[1])
        if cipher is None:
            configured = ", ".join(self._ciphers)
            raise SecretUnreadable(
                f"the value for {context} is sealed under encryption key {match[1]}, "
                f"which is not configured (configured: {configured})"
            )
        try:
            raw = base64url.decode(match[2])
            plaintext = cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], context.encode())
        except (InvalidTag, ValueError) as error:
            raise SecretUnreadable(
                f"the value for {context} was altered, or moved from where it was sealed"
            ) from error
        return plaintext.decode("utf-8", "surrogatepass")
