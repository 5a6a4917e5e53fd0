"""Hashing and checking passwords, off the event loop.

Unicode: a new hash is made of the text in normal form C. Keycloak hashes the text as typed, so a
check tries the text as given first and its form C second: imported hashes verify unchanged, and a
password set on one system verifies when another composes its accents differently.
More than 1024 characters are never hashed: nobody types them, and each costs time.

Spec: RFC 8265 §4 (normalisation), NIST SP 800-63B §3.1.1. Keycloak: password hashing providers.
"""

import asyncio
import re
import unicodedata
from concurrent.futures import ThreadPoolExecutor

from gateway.crypto.password_schemes import ALIASES, ARGON2, SCHEMES, PasswordScheme
from gateway.crypto.stored_passwords import read_stored_password
from gateway.domain.errors import FieldError, InvalidInput, SecretUnreadable
from gateway.domain.secrets import Secret

MAX_PASSWORD_LENGTH = 1024
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
_SCHEMES = {scheme.name: scheme for scheme in SCHEMES}


def hash_password(
    password: Secret, algorithm: str | None = None, iterations: int | None = None
) -> tuple[str, str]:
    """Return `(credential_data, secret_data)`; blocks for the time that hashing takes.

    Raises ValueError for an unknown algorithm, InvalidInput for what is no password, and for
    iterations that would take minutes.
    """
    scheme = _scheme(algorithm)
    cost = iterations or scheme.default_iterations
    if not 0 < cost <= scheme.most_iterations:
        allowed = f"1 to {scheme.most_iterations} for {scheme.name}"
        raise InvalidInput((FieldError("hashIterations", str(cost), allowed),))
    given = password.reveal()
    if not _hashable(given):
        allowed = f"at most {MAX_PASSWORD_LENGTH} characters of Unicode text without NUL"
        raise InvalidInput((FieldError("password", f"{len(given)} characters", allowed),))
    text = unicodedata.normalize("NFC", given)
    made = scheme.make(text, cost)
    return made.credential_data(), made.secret_data()


def verify_password(password: Secret, credential_data: str, secret_data: str) -> bool:
    """Tell whether the stored hash was made from `password`; blocks for the time it takes.

    Raises SecretUnreadable when the stored hash cannot be computed again.
    """
    stored = read_stored_password(credential_data, secret_data)
    scheme = _SCHEMES.get(ALIASES.get(stored.algorithm, stored.algorithm))
    if scheme is None:
        raise SecretUnreadable("a stored password is hashed with an algorithm that is not known")
    given = password.reveal()
    if not _hashable(given):
        return False
    forms = dict.fromkeys((given, unicodedata.normalize("NFC", given)))
    return any(scheme.matches(text, stored) for text in forms)


def needs_rehash(
    credential_data: str,
    secret_data: str,
    algorithm: str | None = None,
    iterations: int | None = None,
) -> bool:
    """Tell whether the stored hash was made otherwise than a new one would be."""
    scheme = _scheme(algorithm)
    stored = read_stored_password(credential_data, secret_data)
    return (stored.algorithm, stored.iterations, dict(stored.parameters)) != (
        scheme.name,
        iterations or scheme.default_iterations,
        dict(scheme.parameters),
    )


class PooledPasswordHasher:
    """PasswordHasher in `threads` threads of its own: more at once only slows all of them."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="password")

    async def hash(
        self, password: Secret, *, algorithm: str | None, iterations: int | None = None
    ) -> tuple[str, str]:
        """Return `(credential_data, secret_data)`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._pool, hash_password, password, algorithm, iterations
        )

    async def verify(self, password: Secret, credential_data: str, secret_data: str) -> bool:
        """Tell whether the stored credential was made from `password`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._pool, verify_password, password, credential_data, secret_data
        )

    def close(self) -> None:
        """Let running hashes end and forget the waiting ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _scheme(algorithm: str | None) -> PasswordScheme:
    if algorithm is None:
        return ARGON2
    scheme = _SCHEMES.get(ALIASES.get(algorithm, algorithm))
    if scheme is None:
        raise ValueError(f"{algorithm!r} is not one of {', '.join([*_SCHEMES, *ALIASES])}")
    return scheme


def _hashable(text: str) -> bool:
    # A lone surrogate is half a character: it has no UTF-8, so no hash was ever made of it.
    # HMAC pads its key with zeros (RFC 2104 §2): "a" and "a" with a NUL would be one password.
    return len(text) <= MAX_PASSWORD_LENGTH and not _NO_CHARACTER.search(text)
