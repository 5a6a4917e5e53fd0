"""The ways to hash a password that Keycloak knows, under Keycloak's names and defaults.

PBKDF2 runs in cryptography, which takes half the time of hashlib for the same hash; Argon2 runs
in passlib. Both release the interpreter while they work.

Spec: RFC 8018 §5.2, RFC 9106. Keycloak: argon2, pbkdf2, pbkdf2-sha256, pbkdf2-sha512.
"""

import base64
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from gateway.crypto.passwords.stored import StoredPassword
from gateway.domain.errors import SecretUnreadable
from gateway.domain.limits.password_hashing import ARGON2_MEMORY_KIB

_SALT_BYTES = 16
_ARGON2_VERSIONS = {"1.0": 16, "1.3": 19}


class PasswordScheme(Protocol):
    """One way to hash."""

    @property
    def name(self) -> str:
        """The name in `algorithm`."""
        ...

    @property
    def default_iterations(self) -> int:
        """The cost where the realm sets none."""
        ...

    @property
    def key_bytes(self) -> int:
        """The length of a hash."""
        ...

    @property
    def parameters(self) -> Mapping[str, str]:
        """What else is written beside the hash, in Keycloak's order."""
        ...

    def make(self, password: str, iterations: int) -> StoredPassword:
        """Hash with a fresh salt."""
        ...

    def matches(self, password: str, stored: StoredPassword) -> bool:
        """Tell in constant time whether `stored` was made from `password`."""
        ...


@dataclass(frozen=True, slots=True)
class Pbkdf2:
    """PBKDF2 with HMAC of one hash."""

    name: str
    digest: hashes.HashAlgorithm
    key_bytes: int
    default_iterations: int

    @property
    def parameters(self) -> Mapping[str, str]:
        """Return none: the length of the key is that of the hash."""
        return {}

    def make(self, password: str, iterations: int) -> StoredPassword:
        """Hash with a fresh salt."""
        salt = secrets.token_bytes(_SALT_BYTES)
        value = self._derive(password, salt, iterations, self.key_bytes)
        return StoredPassword(self.name, iterations, salt, value)

    def matches(self, password: str, stored: StoredPassword) -> bool:
        """Compare the first block, of 160 bits or more: each further one would cost the same again.

        Keycloak writes 64 bytes for SHA-1, and wrote as many for SHA-256 in old versions.
        """
        expected = stored.value[: self.digest.digest_size]
        value = self._derive(password, stored.salt, stored.iterations, len(expected))
        return hmac.compare_digest(value, expected)

    def _derive(self, password: str, salt: bytes, iterations: int, length: int) -> bytes:
        return PBKDF2HMAC(self.digest, length, salt, iterations).derive(password.encode())


@dataclass(frozen=True, slots=True)
class Argon2:
    """Argon2id with Keycloak's cost: 7 MiB, one lane, 32 bytes."""

    name: str = "argon2"
    default_iterations: int = 5
    memory_kib: int = ARGON2_MEMORY_KIB
    key_bytes: int = 32

    @property
    def parameters(self) -> Mapping[str, str]:
        """Return what Keycloak writes in `additionalParameters`."""
        return {
            "hashLength": str(self.key_bytes),
            "memory": str(self.memory_kib),
            "type": "id",
            "version": "1.3",
            "parallelism": "1",
        }

    def make(self, password: str, iterations: int) -> StoredPassword:
        """Hash with a fresh salt."""
        argon2 = _passlib_argon2()
        hasher = argon2.using(
            type="ID",
            rounds=iterations,
            memory_cost=self.memory_kib,
            parallelism=1,
            digest_size=self.key_bytes,
            salt_size=_SALT_BYTES,
        )
        made = argon2.from_string(hasher.hash(password))
        return StoredPassword(self.name, iterations, made.salt, made.checksum, self.parameters)

    def matches(self, password: str, stored: StoredPassword) -> bool:
        """Compare, by the parameters that are stored."""
        try:
            return bool(_passlib_argon2().verify(password, self._standard_text(stored)))
        except (KeyError, ValueError) as error:
            raise SecretUnreadable("a stored password has parameters Argon2 refuses") from error

    def _standard_text(self, stored: StoredPassword) -> str:
        """Write the hash in Argon2's own notation, `$argon2id$v=19$m=...,t=...,p=...$salt$hash`."""
        given = stored.parameters
        memory, lanes = int(given["memory"]), int(given["parallelism"])
        salt, value = (
            base64.b64encode(raw).rstrip(b"=").decode("ascii")
            for raw in (stored.salt, stored.value)
        )
        version = _ARGON2_VERSIONS[given["version"]]
        cost = f"m={memory},t={stored.iterations},p={lanes}"
        return f"$argon2{given['type']}$v={version}${cost}${salt}${value}"


def _passlib_argon2() -> Any:
    # 60 ms and 3 MB that a process without passwords does not spend; passlib.hash is not typed.
    from passlib.hash import argon2  # type: ignore[import-untyped]  # noqa: PLC0415 - as above

    return argon2


ARGON2 = Argon2()
SCHEMES: tuple[PasswordScheme, ...] = (
    ARGON2,
    Pbkdf2("pbkdf2-sha512", hashes.SHA512(), 64, 210_000),
    Pbkdf2("pbkdf2-sha256", hashes.SHA256(), 32, 600_000),
    # SHA-1 is Keycloak's oldest scheme; HMAC does not need its collision resistance.
    Pbkdf2("pbkdf2", hashes.SHA1(), 20, 1_300_000),  # noqa: S303 - as above
)
