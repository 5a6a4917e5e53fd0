"""Hashing and checking passwords, off the event loop.

Unicode: a new hash is made of the text in normal form C. Keycloak hashes the text as typed, so a
check tries the text as given first and its form C second: imported hashes verify unchanged, and a
password set on one system verifies when another composes its accents differently.
More than 1024 characters are never hashed: nobody types them, and each costs time.

Spec: RFC 8265 §4 (normalisation), NIST SP 800-63B §3.1.1. Keycloak: password hashing providers.
"""

import asyncio
import os
import re
import sys
import threading
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from gateway.crypto.password_schemes import ALIASES, ARGON2, SCHEMES, PasswordScheme
from gateway.crypto.stored_passwords import StoredPassword, read_stored_password
from gateway.domain.errors import FieldError, InvalidInput, Overloaded, SecretUnreadable
from gateway.domain.secrets import Secret

MAX_PASSWORD_LENGTH = 1024
MOST_WAITING = 16
"""At 0.1 s a hash and two threads this is 0.8 s: who waits longer has given up or tries again."""
_NICENESS = 10
"""A tenth of the share of a thread that answers requests; beyond 19 the kernel takes 19."""
ResultT = TypeVar("ResultT")
_NO_SALT = bytes(16)
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


def check_password(
    password: Secret,
    stored: tuple[str, str] | None,
    algorithm: str | None = None,
    iterations: int | None = None,
) -> bool:
    """Verify, and where that fails do the rest of the work that a new hash takes; blocks for it.

    Nothing stored is a failure. A stored hash that is dearer than a new one takes longer.
    """
    if stored is not None and verify_password(password, *stored):
        return True
    scheme = _scheme(algorithm)
    rounds, value = iterations or scheme.default_iterations, bytes(scheme.key_bytes)
    if stored is not None:
        spent = read_stored_password(*stored)
        rounds -= spent.iterations if spent.algorithm == scheme.name else 0
    if rounds > 0:
        rest = StoredPassword(scheme.name, rounds, _NO_SALT, value, scheme.parameters)
        verify_password(password, rest.credential_data(), rest.secret_data())
    return False


class PooledPasswordHasher:
    """PasswordHasher in `threads` threads of its own: more at once only slows all of them.

    `waiting` hashes may wait for a thread; who comes later is told to come again (Overloaded).
    Belongs to one event loop.
    """

    def __init__(self, threads: int, waiting: int = MOST_WAITING) -> None:
        self._pool = ThreadPoolExecutor(
            threads, thread_name_prefix="password", initializer=_step_back
        )
        self._room = threads + waiting

    async def hash(
        self, password: Secret, *, algorithm: str | None, iterations: int | None = None
    ) -> tuple[str, str]:
        """Return `(credential_data, secret_data)`."""
        return await self._run(partial(hash_password, password, algorithm, iterations))

    async def check(
        self,
        password: Secret,
        stored: tuple[str, str] | None,
        *,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> bool:
        """Tell whether the stored credential was made from `password`; one job, whatever it is."""
        return await self._run(partial(check_password, password, stored, algorithm, iterations))

    def needs_rehash(
        self,
        credential_data: str,
        secret_data: str,
        *,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> bool:
        """Tell whether the stored credential was made otherwise than `hash` would make it now."""
        return needs_rehash(credential_data, secret_data, algorithm, iterations)

    async def _run(self, work: Callable[[], ResultT]) -> ResultT:
        if self._room <= 0:
            raise Overloaded
        self._room -= 1
        running = asyncio.get_running_loop().run_in_executor(self._pool, work)
        running.add_done_callback(self._leave)
        # Who stops waiting does not make room: the thread works on.
        return await asyncio.shield(running)

    def _leave(self, _: "asyncio.Future[ResultT]") -> None:
        self._room += 1

    def close(self) -> None:
        """Let running hashes end and forget the waiting ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _step_back() -> None:
    """Let this thread wait where the others need its core: who has a token goes first."""
    if sys.platform == "linux":  # elsewhere niceness is the whole process's
        thread = threading.get_native_id()
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS
        os.setpriority(os.PRIO_PROCESS, thread, niceness)


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
