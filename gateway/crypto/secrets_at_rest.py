"""Encryption of secrets in the database: AES-256-GCM under the operator's key.

A sealed value is `v1.<key id>.<base64url(nonce, ciphertext, tag)>`. The context is authenticated
with it, so a value moved to another row or column does not open. The key id (first 8 hex digits of
SHA-256 of the key) distinguishes a missing key from an altered value. To change the key, put the
new one first and keep the old: the first seals, all of them open.
Spec: NIST SP 800-38D §8.2.2 (random 96-bit nonces, under 2^32 values for each key)

The key is given as text, or in a private file that is created at the first start: one base64 key of
32 bytes per line, the newest first. The file must be readable by its owner alone.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gateway.domain import base64url
from gateway.domain.errors import FieldError, InvalidInput, SecretUnreadable

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


_KEY_BYTES = 32
_SHARED = stat.S_IRWXG | stat.S_IRWXO


def parse_keys(text: str, source: str) -> tuple[bytes, ...]:
    """Read base64 keys of 32 bytes between white space; raises InvalidInput about `source`."""
    lines = text.split()
    keys = [_decoded(line) for line in lines]
    errors = [
        FieldError(f"{source}, key {number}", _describe(key), f"{_KEY_BYTES} bytes in base64")
        for number, key in enumerate(keys, start=1)
        if key is None or len(key) != _KEY_BYTES
    ]
    if not lines:
        errors.append(FieldError(source, "nothing", f"{_KEY_BYTES} bytes in base64"))
    if errors:
        raise InvalidInput(tuple(errors))
    return tuple(key for key in keys if key is not None)


def load_or_create_keys(path: Path) -> tuple[bytes, ...]:
    """Read the keys in `path`, or make one; OSError, InvalidInput if unusable or open to others."""
    if not path.exists():
        _create_key_file(path)
    with path.open(encoding="utf-8", errors="replace") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & _SHARED:
            raise InvalidInput((FieldError(str(path), f"mode {mode:04o}", "mode 0600"),))
        return parse_keys(file.read(), str(path))


def _create_key_file(path: Path) -> None:
    """Make the file whole or not at all: of two gateways that start at once, one key wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(_KEY_BYTES)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        # A hard link fails when the name is taken, where a rename would overwrite the winner's.
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def _decoded(line: str) -> bytes | None:
    try:
        return base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        return None


def _describe(key: bytes | None) -> str:
    return "text that is not base64" if key is None else f"{len(key)} bytes"
