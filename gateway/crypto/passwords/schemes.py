"""How each scheme of password hashes is computed; names and costs stand in `HASH_SCHEMES`.

PBKDF2 runs in cryptography, which takes half the time of hashlib for the same hash; Argon2 runs
in passlib. Both release the interpreter while they work. Spec: RFC 8018 §5.2, RFC 9106
"""

import base64
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from gateway.crypto.passwords.stored import StoredPassword
from gateway.domain.errors import SecretUnreadable
from gateway.domain.limits.password_hashing import HASH_SCHEMES, HashScheme

_SALT_BYTES = 16
_ARGON2_VERSIONS = {"1.0": 16, "1.3": 19}


class PasswordAlgorithm(Protocol):
    """Computes the hashes of one scheme."""

    @property
    def scheme(self) -> HashScheme:
        """The scheme."""
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

    scheme: HashScheme

    def make(self, password: str, iterations: int) -> StoredPassword:
        salt = secrets.token_bytes(_SALT_BYTES)
        value = self._derive(password, salt, iterations, self.scheme.key_bytes)
        return StoredPassword(self.scheme.name, iterations, salt, value)

    def matches(self, password: str, stored: StoredPassword) -> bool:
        """Compare the first block, of 160 bits or more: each further one would cost the same again.

        Keycloak writes 64 bytes for SHA-1, and wrote as many for SHA-256 in old versions.
        """
        expected = stored.value[: self._digest.digest_size]
        value = self._derive(password, stored.salt, stored.iterations, len(expected))
        return hmac.compare_digest(value, expected)

    def _derive(self, password: str, salt: bytes, iterations: int, length: int) -> bytes:
        return PBKDF2HMAC(self._digest, length, salt, iterations).derive(password.encode())

    @property
    def _digest(self) -> hashes.HashAlgorithm:
        """The hash of the name that the scheme gives: each name is a class of `hashes`."""
        made: hashes.HashAlgorithm = getattr(hashes, str(self.scheme.digest).upper())()
        return made


@dataclass(frozen=True, slots=True)
class Argon2:
    """Argon2id, one lane."""

    scheme: HashScheme

    def make(self, password: str, iterations: int) -> StoredPassword:
        argon2, scheme = _passlib_argon2(), self.scheme
        hasher = argon2.using(
            type="ID",
            rounds=iterations,
            memory_cost=int(scheme.parameters["memory"]),
            parallelism=1,
            digest_size=scheme.key_bytes,
            salt_size=_SALT_BYTES,
        )
        made = argon2.from_string(hasher.hash(password))
        return StoredPassword(scheme.name, iterations, made.salt, made.checksum, scheme.parameters)

    def matches(self, password: str, stored: StoredPassword) -> bool:
        """Compare, by the parameters that are stored."""
        try:
            return bool(_passlib_argon2().verify(password, _standard_text(stored)))
        except (KeyError, ValueError) as error:
            raise SecretUnreadable("a stored password has parameters Argon2 refuses") from error


def _standard_text(stored: StoredPassword) -> str:
    """Write the hash in Argon2's own notation, `$argon2id$v=19$m=...,t=...,p=...$salt$hash`."""
    given = stored.parameters
    memory, lanes = int(given["memory"]), int(given["parallelism"])
    salt, value = (
        base64.b64encode(raw).rstrip(b"=").decode("ascii") for raw in (stored.salt, stored.value)
    )
    version = _ARGON2_VERSIONS[given["version"]]
    cost = f"m={memory},t={stored.iterations},p={lanes}"
    return f"$argon2{given['type']}$v={version}${cost}${salt}${value}"


def _passlib_argon2() -> Any:
    # 60 ms and 3 MB that a process without passwords does not spend. Not from passlib.hash, which
    # finds its names when they are asked for: two threads that import it at once can miss them.
    from passlib.handlers.argon2 import (  # type: ignore[import-untyped]  # noqa: PLC0415 - as above
        argon2,
    )

    return argon2


ALGORITHMS: Final[Mapping[str, PasswordAlgorithm]] = {
    scheme.name: Argon2(scheme) if scheme.digest is None else Pbkdf2(scheme)
    for scheme in HASH_SCHEMES
}
"""Name of a scheme -> what computes it."""
