"""Password hashes: the schemes, and what one hash may cost, wherever its parameters come from.

New hashes, the rules of `passwordPolicy`, imported credentials and stored ones are all measured
here. Each maximum takes about half a second on one core of a server of 2024, so that a check with
two spellings of a password takes about one. Keycloak's defaults take a tenth to a third of it.

Spec: RFC 8018 §5.2, RFC 9106 §3.1. Keycloak: password hashing providers and their defaults
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_PASSWORD_LENGTH: Final = 1024
"""Characters of a password; a longer one is never hashed."""
_ARGON2_MEMORY_KIB: Final = 7168
"""The memory of new hashes."""
MAX_ARGON2_MEMORY_KIB: Final = 64 * 1024
MAX_ARGON2_WORK_KIB: Final = 512 * 1024
"""Memory times passes."""
MAX_ARGON2_PASSES: Final = 100
MAX_ARGON2_LANES: Final = 8
"""Each pass starts four threads for each lane, however little memory there is."""
MAX_ARGON2_HASH_BYTES: Final = 128
MAX_HASH_BYTES: Final = 512
MAX_SALT_BYTES: Final = 512
MOST_HASH_KINDS: Final = 4
"""Kinds of hashes in use whose work every failed check of a realm does: two seconds at most."""
MAX_WAITING_HASHES: Final = 16
"""Of one network in a realm, in one worker process: 0.8 s at 0.1 s a hash and two threads."""


@dataclass(frozen=True, slots=True)
class HashScheme:
    """A way to hash passwords, as `hashAlgorithm(name)` of a password policy asks for it.

    `iterations` is the cost where the realm sets none, `most_iterations` the largest of a new
    hash: for PBKDF2 of one block, since no more of a hash is computed, however long it is.
    """

    name: str
    key_bytes: int
    iterations: int
    most_iterations: int
    digest: str | None = None
    """The hash inside of PBKDF2's HMAC; None for Argon2id."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """What is stored in `additionalParameters`, in Keycloak's order."""
    aliases: tuple[str, ...] = ()
    """Names that realm files use though Keycloak has no such provider."""


_ARGON2_PARAMETERS: Final = {
    "hashLength": "32",
    "memory": str(_ARGON2_MEMORY_KIB),
    "type": "id",
    "version": "1.3",
    "parallelism": "1",
}
HASH_SCHEMES: Final = (
    HashScheme(
        *("argon2", 32, 5, MAX_ARGON2_WORK_KIB // _ARGON2_MEMORY_KIB),
        parameters=_ARGON2_PARAMETERS,
    ),
    HashScheme(
        *("pbkdf2-sha512", 64, 210_000, 1_500_000), digest="sha512", aliases=("pbkdf2-sha-512",)
    ),
    HashScheme(
        *("pbkdf2-sha256", 32, 600_000, 3_000_000), digest="sha256", aliases=("pbkdf2-sha-256",)
    ),
    # SHA-1 is Keycloak's oldest scheme; HMAC does not need its collision resistance.
    HashScheme("pbkdf2", 20, 1_300_000, 3_000_000, digest="sha1"),
)
"""Every scheme, once; the first is the one of realms that name none."""
HASH_SCHEME_OF: Final[Mapping[str, HashScheme]] = {
    **{scheme.name: scheme for scheme in HASH_SCHEMES},
    **{alias: scheme for scheme in HASH_SCHEMES for alias in scheme.aliases},
}
"""Name or alias -> scheme."""


@dataclass(frozen=True, slots=True)
class HashParameters:
    """What determines the cost of one hash; lengths are in bytes."""

    algorithm: str
    iterations: int
    hash_bytes: int
    salt_bytes: int = 16
    parameters: Mapping[str, str] = field(default_factory=dict)


def hash_refusal(hashed: HashParameters) -> str | None:
    """Return why a hash must not be computed, None where it may; the text is public.

    Raises ValueError and KeyError for parameters that are missing or no numbers. An algorithm
    that is not known costs nothing, as nothing computes it.
    """
    if not 0 < hashed.hash_bytes <= MAX_HASH_BYTES or hashed.salt_bytes > MAX_SALT_BYTES:
        return f"a hash of 1 to {MAX_HASH_BYTES} bytes, a salt of at most {MAX_SALT_BYTES} bytes"
    scheme = HASH_SCHEME_OF.get(hashed.algorithm)
    if scheme is not None and scheme.digest is None:
        return _argon2_refusal(hashed)
    if scheme is None or 0 < hashed.iterations <= scheme.most_iterations:
        return None
    return f"1 to {scheme.most_iterations} iterations of {scheme.name}"


def stored_hash_parameters(made: Mapping[str, Any], secret: Mapping[str, Any]) -> HashParameters:
    """Return the parameters of a credential as Keycloak writes it; raises ValueError and others."""
    given = made.get("additionalParameters") or {}
    return HashParameters(
        algorithm=str(made["algorithm"]),
        iterations=int(made["hashIterations"]),
        hash_bytes=_decoded_bytes(secret["value"]),
        salt_bytes=_decoded_bytes(secret["salt"]),
        parameters={name: str(values[0]) for name, values in given.items() if values},
    )


HashKind = tuple[str, tuple[tuple[str, str], ...]]
"""The name of a scheme and, for Argon2, the parameters that its time depends on beside passes."""
_ARGON2_KIND: Final = ("memory", "parallelism", "type", "version")


@dataclass(frozen=True, slots=True)
class HashCost:
    """Work of one check: iterations of one kind of hash."""

    kind: HashKind
    iterations: int

    @property
    def share(self) -> float:
        """The part of the largest work that its scheme allows."""
        name, parameters = self.kind
        if parameters:
            return self.iterations * int(dict(parameters)["memory"]) / MAX_ARGON2_WORK_KIB
        return self.iterations / HASH_SCHEME_OF[name].most_iterations


def hash_kind(algorithm: str, parameters: Mapping[str, str]) -> HashKind:
    """Return the kind of a hash; raises KeyError for an unknown one."""
    scheme = HASH_SCHEME_OF[algorithm]
    if scheme.digest is not None:
        return scheme.name, ()
    return scheme.name, tuple((name, parameters[name]) for name in _ARGON2_KIND)


def hash_cost_of(credential_data: str) -> HashCost | None:
    """Return the cost of a stored password, rounded up to two digits; None if never computed."""
    try:
        made = json.loads(credential_data)
        given = made.get("additionalParameters") or {}
        parameters = {name: str(values[0]) for name, values in given.items() if values}
        name, iterations = str(made["algorithm"]), int(made["hashIterations"])
        hashed = HashParameters(name, iterations, hash_bytes=1, parameters=parameters)
        if hash_refusal(hashed) is not None:
            return None
        step = 10 ** max(0, len(str(iterations)) - 2)
        return HashCost(hash_kind(name, parameters), -(-iterations // step) * step)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def dearest_costs(costs: Iterable[HashCost]) -> tuple[HashCost, ...]:
    """Return the largest cost of each kind, of the MOST_HASH_KINDS dearest kinds."""
    largest: dict[HashKind, HashCost] = {}
    for cost in costs:
        known = largest.get(cost.kind)
        if known is None or known.iterations < cost.iterations:
            largest[cost.kind] = cost
    ordered = sorted(largest.values(), key=lambda cost: (-cost.share, cost.kind))
    return tuple(ordered[:MOST_HASH_KINDS])


def _decoded_bytes(text: str) -> int:
    return len(text.rstrip("=")) * 3 // 4


def _argon2_refusal(hashed: HashParameters) -> str | None:
    memory, lanes = (int(hashed.parameters[name]) for name in ("memory", "parallelism"))
    if not 0 < memory <= MAX_ARGON2_MEMORY_KIB or not 0 < lanes <= MAX_ARGON2_LANES:
        return f"argon2 with at most {MAX_ARGON2_MEMORY_KIB} KiB and {MAX_ARGON2_LANES} lanes"
    if hashed.hash_bytes > MAX_ARGON2_HASH_BYTES:
        return f"an argon2 hash of at most {MAX_ARGON2_HASH_BYTES} bytes"
    most = min(MAX_ARGON2_WORK_KIB // memory, MAX_ARGON2_PASSES)
    if 0 < hashed.iterations <= most:
        return None
    return f"1 to {most} passes of argon2 for {memory} KiB"
