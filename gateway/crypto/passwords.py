"""Password hashes in Keycloak's two JSON strings: schemes, parsing, and hashing off the event loop.

Names and costs are in `HASH_SCHEMES`. The cost of a stored hash is checked before it is computed.
PBKDF2 runs in cryptography, which takes half the time of hashlib for the same hash; Argon2 runs
in passlib. Both release the interpreter while they work.

A new hash is computed from the normal form C of the text. Keycloak hashes the text as typed, so a
check tries the text as given first and its form C second: imported hashes verify unchanged, and a
password set on one system verifies when another composes its accents differently.
Spec: RFC 8018 §5.2, RFC 8265 §4 (normalisation), RFC 9106, NIST SP 800-63B §3.1.1.
Keycloak: PasswordCredentialModel, `credentialData` and `secretData`; password hashing providers
"""

import base64
import hmac
import json
import os
import re
import secrets
import sys
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from gateway.domain.errors import FieldError, InvalidInput, SecretUnreadable
from gateway.domain.limits.fair_share import REFUSAL_PAUSE, FairThreads
from gateway.domain.limits.password_hashing import (
    HASH_SCHEME_OF,
    HASH_SCHEMES,
    MAX_PASSWORD_LENGTH,
    MAX_WAITING_HASHES,
    HashCost,
    HashKind,
    HashParameters,
    HashScheme,
    hash_kind,
    hash_refusal,
)
from gateway.domain.secrets import Secret


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """A hash with all it takes to compute it again."""

    algorithm: str
    iterations: int
    salt: bytes
    value: bytes = field(repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict)

    def credential_data(self) -> str:
        return _json(
            {
                "hashIterations": self.iterations,
                "algorithm": self.algorithm,
                "additionalParameters": {name: [value] for name, value in self.parameters.items()},
            }
        )

    def secret_data(self) -> str:
        value, salt = (base64.b64encode(raw).decode("ascii") for raw in (self.value, self.salt))
        return _json({"value": value, "salt": salt, "additionalParameters": {}})


def read_stored_password(credential_data: str, secret_data: str) -> StoredPassword:
    """Read the two strings; raises SecretUnreadable, which quotes nothing of their content."""
    try:
        made, secret = json.loads(credential_data), json.loads(secret_data)
        stored = StoredPassword(
            algorithm=str(made["algorithm"]),
            iterations=int(made["hashIterations"]),
            salt=base64.b64decode(secret["salt"], validate=True),
            value=base64.b64decode(secret["value"], validate=True),
            parameters={
                name: str(values[0])
                for name, values in (made.get("additionalParameters") or {}).items()
                if values
            },
        )
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise SecretUnreadable("a stored password is not in Keycloak's format") from error
    parameters = HashParameters(
        algorithm=stored.algorithm,
        iterations=stored.iterations,
        hash_bytes=len(stored.value),
        salt_bytes=len(stored.salt),
        parameters=stored.parameters,
    )
    try:
        allowed = hash_refusal(parameters)
    except (ValueError, KeyError) as error:
        raise SecretUnreadable("a stored password has parameters that are no numbers") from error
    if allowed is not None:  # it must not be computed, however it was stored
        raise SecretUnreadable(f"a stored password is too expensive: {allowed}")
    return stored


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


_SALT_BYTES = 16
_ARGON2_VERSIONS = {"1.0": 16, "1.3": 19}


@dataclass(frozen=True, slots=True)
class Pbkdf2:
    """PBKDF2 with HMAC of one hash; hashes get a fresh salt and are compared in constant time."""

    scheme: HashScheme
    _digest: hashes.HashAlgorithm = field(init=False, repr=False, compare=False)
    """The hash of the name that the scheme gives: each name is a class of `hashes`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_digest", getattr(hashes, str(self.scheme.digest).upper())())

    def hash_password(self, password: str, iterations: int) -> StoredPassword:
        salt = secrets.token_bytes(_SALT_BYTES)
        length = self.scheme.key_bytes
        value = PBKDF2HMAC(self._digest, length, salt, iterations).derive(password.encode())
        return StoredPassword(self.scheme.name, iterations, salt, value)

    def matches(self, password: str, stored: StoredPassword) -> bool:
        """Compare the first block only: each costs as much again, and Keycloak wrote 64 bytes."""
        expected = stored.value[: self._digest.digest_size]
        kdf = PBKDF2HMAC(self._digest, len(expected), stored.salt, stored.iterations)
        return hmac.compare_digest(kdf.derive(password.encode()), expected)


@dataclass(frozen=True, slots=True)
class Argon2:
    """Argon2id, one lane."""

    scheme: HashScheme

    def hash_password(self, password: str, iterations: int) -> StoredPassword:
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
    # resolves its names on access: two threads that import it at once can miss them.
    from passlib.handlers.argon2 import argon2  # type: ignore[import-untyped]  # noqa: PLC0415 - as above

    return argon2


ALGORITHMS: Final[Mapping[str, Pbkdf2 | Argon2]] = {
    scheme.name: Argon2(scheme) if scheme.digest is None else Pbkdf2(scheme)
    for scheme in HASH_SCHEMES
}
"""Name of a scheme -> its implementation."""


_NICENESS = 10
"""A tenth of the share of a thread that answers requests; beyond 19 the kernel takes 19."""
_NO_SALT = bytes(16)
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")


def hash_password(
    password: Secret, algorithm: str | None = None, iterations: int | None = None
) -> tuple[str, str]:
    """Return `(credential_data, secret_data)`; blocks while it hashes.

    Raises ValueError for an unknown algorithm, InvalidInput for the password or iterations.
    """
    scheme = _scheme(algorithm)
    cost, most = iterations or scheme.iterations, scheme.most_iterations
    if not 0 < cost <= most:
        allowed = f"1 to {most} for {scheme.name}"
        raise InvalidInput((FieldError("hashIterations", str(cost), allowed),))
    given = password.reveal()
    if not _hashable(given):
        allowed = f"at most {MAX_PASSWORD_LENGTH} characters of Unicode text without NUL"
        raise InvalidInput((FieldError("password", f"{len(given)} characters", allowed),))
    text = unicodedata.normalize("NFC", given)
    made = ALGORITHMS[scheme.name].hash_password(text, cost)
    return made.credential_data(), made.secret_data()


def verify_password(password: Secret, credential_data: str, secret_data: str) -> bool:
    """Return whether `password` made the stored hash; blocks; raises SecretUnreadable."""
    stored = read_stored_password(credential_data, secret_data)
    scheme = HASH_SCHEME_OF.get(stored.algorithm)
    if scheme is None:
        raise SecretUnreadable("a stored password is hashed with an algorithm that is not known")
    given = password.reveal()
    if not _hashable(given):
        return False
    forms = dict.fromkeys((given, unicodedata.normalize("NFC", given)))
    return any(ALGORITHMS[scheme.name].matches(text, stored) for text in forms)


def needs_rehash(
    credential_data: str,
    secret_data: str,
    algorithm: str | None = None,
    iterations: int | None = None,
) -> bool:
    """Return whether new hashes differ from the stored one; not with too many iterations."""
    scheme = _scheme(algorithm)
    if (iterations or 0) > scheme.most_iterations:
        return False
    stored = read_stored_password(credential_data, secret_data)
    return (stored.algorithm, stored.iterations, dict(stored.parameters)) != (
        scheme.name,
        iterations or scheme.iterations,
        dict(scheme.parameters),
    )


def check_password(
    password: Secret,
    stored: tuple[str, str] | None,
    algorithm: str | None = None,
    iterations: int | None = None,
    costs: Sequence[HashCost] = (),
) -> bool:
    """Verify, and do the same work for every failure; blocks for it.

    That work is two hashes of each kind among `costs`, which are those in use in the realm, and of
    new hashes, with the largest number of iterations plus one. A missing or unusable stored hash is
    a failure; the latter is logged.
    """
    spent: dict[HashKind, int] = {}
    if stored is not None:
        try:
            if verify_password(password, *stored):
                return True
            computed = read_stored_password(*stored)
        except SecretUnreadable as error:
            import structlog  # noqa: PLC0415 - 40 ms of a command, which seldom logs

            structlog.get_logger().warning("stored password is unusable", reason=str(error))
        else:
            kind = hash_kind(computed.algorithm, computed.parameters)
            spent[kind] = computed.iterations
    for kind, rounds in _work_of_failure(algorithm, iterations, costs).items():
        if kind not in spent:
            spent[kind] = _compute_hash(password, kind, rounds)
        _compute_hash(password, kind, max(rounds - spent[kind], 0) + 1)
    return False


def _compute_hash(password: Secret, kind: HashKind, rounds: int) -> int:
    name, parameters = kind
    value = bytes(HASH_SCHEME_OF[name].key_bytes)
    made = StoredPassword(name, rounds, _NO_SALT, value, dict(parameters))
    stored = made.credential_data(), made.secret_data()
    verify_password(password, *stored)
    return read_stored_password(*stored).iterations


def _work_of_failure(
    algorithm: str | None, iterations: int | None, costs: Sequence[HashCost]
) -> dict[HashKind, int]:
    scheme = _scheme(algorithm)
    rounds = min(iterations or scheme.iterations, scheme.most_iterations)
    work = {cost.kind: cost.iterations for cost in costs}
    kind = hash_kind(scheme.name, scheme.parameters)
    work[kind] = max(rounds, work.get(kind, 0))
    return work


class PooledPasswordHasher:
    """PasswordHasher in `threads` threads of its own.

    `waiting` hashes of each caller's network may wait in each realm; more raise Overloaded. Realms
    take turns, and so do the networks of a realm.
    """

    def __init__(
        self,
        threads: int,
        waiting: int = MAX_WAITING_HASHES,
        refusal_pause: timedelta = REFUSAL_PAUSE,
    ) -> None:
        self._threads = FairThreads(
            "password", threads, waiting, initializer=_step_back, refusal_pause=refusal_pause
        )

    async def hash(
        self,
        password: Secret,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> tuple[str, str]:
        work = partial(hash_password, password, algorithm, iterations)
        return await self._threads.run(realm_id, work)

    async def check_password(
        self,
        password: Secret,
        stored: tuple[str, str] | None,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
        costs: Sequence[HashCost] = (),
    ) -> bool:
        work = partial(check_password, password, stored, algorithm, iterations, costs)
        return await self._threads.run_for_caller(realm_id, work)

    needs_rehash = staticmethod(needs_rehash)

    def close(self) -> None:
        """Finish running hashes and drop the waiting ones."""
        self._threads.close()


def _step_back() -> None:
    """Lower the priority of this thread: token requests run first."""
    if sys.platform == "linux":  # elsewhere niceness is the whole process's
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS)


def _scheme(algorithm: str | None) -> HashScheme:
    scheme = HASH_SCHEMES[0] if algorithm is None else HASH_SCHEME_OF.get(algorithm)
    if scheme is None:
        raise ValueError(f"{algorithm!r} is not one of {', '.join(HASH_SCHEME_OF)}")
    return scheme


def _hashable(text: str) -> bool:
    # A lone surrogate is half a character: it has no UTF-8, so no hash was ever made of it.
    # HMAC pads its key with zeros (RFC 2104 §2): "a" and "a" with a NUL would be one password.
    return len(text) <= MAX_PASSWORD_LENGTH and not _NO_CHARACTER.search(text)
