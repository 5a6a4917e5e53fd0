"""Passwords are stored as Keycloak stores them, so that hashes move both ways unchanged."""

import asyncio
import base64
import hashlib
import json
import os
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from argon2.low_level import Type, hash_secret_raw
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.crypto import passwords as password_schemes
from gateway.crypto.passwords import (
    PooledPasswordHasher,
    StoredPassword,
    check_password,
    hash_password,
    needs_rehash,
    verify_password,
)
from gateway.domain.errors import InvalidInput, Overloaded, SecretUnreadable
from gateway.domain.limits.password_hashing import (
    HASH_SCHEME_OF,
    MOST_HASH_KINDS,
    HashScheme,
    dearest_costs,
    hash_cost_of,
)
from gateway.domain.secrets import Secret

SALT = bytes(range(16))
ARGON2_PARAMETERS = {
    "hashLength": ["32"],
    "memory": ["7168"],
    "type": ["id"],
    "version": ["1.3"],
    "parallelism": ["1"],
}


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def keycloak(
    algorithm: str, iterations: Any, value: bytes, parameters: Any = None, salt: bytes = SALT
) -> tuple[str, str]:
    """Write a credential in Keycloak's words, independently of the code under test."""
    made = {
        "hashIterations": iterations,
        "algorithm": algorithm,
        "additionalParameters": parameters or {},
    }
    secret = {"value": b64(value), "salt": b64(salt), "additionalParameters": {}}
    return json.dumps(made), json.dumps(secret)


def pbkdf2(digest: str, password: str, length: int, iterations: int = 1000) -> bytes:
    return hashlib.pbkdf2_hmac(digest, password.encode(), SALT, iterations, length)


def argon2id(password: str, length: int = 32, memory: int = 7168, version: int = 19) -> bytes:
    return hash_secret_raw(password.encode(), SALT, 5, memory, 1, length, Type.ID, version)


def with_parameters(**changed: str) -> dict[str, list[str]]:
    return ARGON2_PARAMETERS | {name: [value] for name, value in changed.items()}


IMPORTED = {
    "pbkdf2": keycloak("pbkdf2", 1000, pbkdf2("sha1", "pässword", 20)),
    "64 bytes of SHA-1": keycloak("pbkdf2", 1000, pbkdf2("sha1", "pässword", 64)),
    "pbkdf2-sha256": keycloak("pbkdf2-sha256", 1000, pbkdf2("sha256", "pässword", 32)),
    "64 bytes by an old Keycloak": keycloak(
        "pbkdf2-sha256", 1000, pbkdf2("sha256", "pässword", 64)
    ),
    "alias": keycloak("pbkdf2-sha-256", 1000, pbkdf2("sha256", "pässword", 32)),
    "pbkdf2-sha512": keycloak("pbkdf2-sha512", 1000, pbkdf2("sha512", "pässword", 64)),
    "argon2": keycloak("argon2", 5, argon2id("pässword"), ARGON2_PARAMETERS),
    "argon2 of other sizes": keycloak(
        "argon2",
        5,
        argon2id("pässword", 64, 256),
        with_parameters(hashLength="64", memory="256"),
    ),
    "argon2 version 1.0": keycloak(
        "argon2", 5, argon2id("pässword", version=16), with_parameters(version="1.0")
    ),
}


@pytest.mark.parametrize("stored", IMPORTED.values(), ids=IMPORTED.keys())
def test_foreign_hashes_verify_only_with_their_password(
    stored: tuple[str, str],
) -> None:
    assert verify_password(Secret("pässword"), *stored)
    for wrong in ("password", "pässword ", "Pässword", "", "pässword\0"):
        assert not verify_password(Secret(wrong), *stored)


def test_a_pbkdf2_hash_matches_hashlib_in_keycloaks_format() -> None:
    made, secret = hash_password(Secret("pässword"), "pbkdf2-sha256", 27500)
    assert made == (
        '{"hashIterations":27500,"algorithm":"pbkdf2-sha256","additionalParameters":{}}'
    )
    stored = json.loads(secret)
    salt = base64.b64decode(stored["salt"])
    value = hashlib.pbkdf2_hmac("sha256", "pässword".encode(), salt, 27500)
    assert len(salt) == 16
    assert secret == f'{{"value":"{b64(value)}","salt":"{b64(salt)}","additionalParameters":{{}}}}'


def test_the_default_is_argon2id_with_keycloaks_cost_and_format() -> None:
    made, secret = hash_password(Secret("pässword"))
    assert made == (
        '{"hashIterations":5,"algorithm":"argon2","additionalParameters":{"hashLength":["32"],'
        '"memory":["7168"],"type":["id"],"version":["1.3"],"parallelism":["1"]}}'
    )
    stored = json.loads(secret)
    salt = base64.b64decode(stored["salt"])
    value = hash_secret_raw("pässword".encode(), salt, 5, 7168, 1, 32, Type.ID)
    assert (len(salt), stored["value"]) == (16, b64(value))


@pytest.mark.parametrize(
    ("algorithm", "stored_as", "iterations", "length"),
    [
        ("pbkdf2", "pbkdf2", 1_300_000, 20),
        ("pbkdf2-sha256", "pbkdf2-sha256", 600_000, 32),
        ("pbkdf2-sha-256", "pbkdf2-sha256", 600_000, 32),
        ("pbkdf2-sha512", "pbkdf2-sha512", 210_000, 64),
    ],
)
def test_an_algorithm_without_iterations_takes_keycloaks(
    algorithm: str, stored_as: str, iterations: int, length: int
) -> None:
    made, secret = hash_password(Secret("p"), algorithm)
    parsed = json.loads(made)
    assert (parsed["algorithm"], parsed["hashIterations"]) == (stored_as, iterations)
    assert len(base64.b64decode(json.loads(secret)["value"])) == length


def test_the_same_password_never_hashes_to_the_same_text() -> None:
    assert len({hash_password(Secret("p"), "pbkdf2-sha256", 1)[1] for _ in range(50)}) == 50


passwords = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


@given(passwords, passwords)
@settings(max_examples=200, deadline=None)
def test_what_was_hashed_verifies_and_nothing_else(password: str, other: str) -> None:
    stored = hash_password(Secret(password), "pbkdf2-sha256", 1)
    assert verify_password(Secret(password), *stored)
    same = unicodedata.normalize("NFC", password) == unicodedata.normalize("NFC", other)
    assert verify_password(Secret(other), *stored) is same


def test_accents_composed_otherwise_are_the_same_password() -> None:
    composed, decomposed = "Caf\u00e9", "Cafe\u0301"
    stored = hash_password(Secret(decomposed), "pbkdf2-sha256", 1)
    assert verify_password(Secret(composed), *stored)
    assert verify_password(Secret(decomposed), *stored)
    imported = keycloak("pbkdf2-sha256", 1, pbkdf2("sha256", decomposed, 32, 1))
    assert verify_password(Secret(decomposed), *imported)


def test_longer_than_1024_characters_is_refused_uncomputed() -> None:
    """attacks: D12."""
    stored = keycloak("pbkdf2-sha256", 1, pbkdf2("sha256", "x" * 1025, 32, 1))
    assert not verify_password(Secret("x" * 1025), *stored)
    with pytest.raises(InvalidInput, match="1025 characters given, at most 1024"):
        hash_password(Secret("x" * 1025), "pbkdf2-sha256", 1)
    longest = hash_password(Secret("x" * 1024), "pbkdf2-sha256", 1)
    assert verify_password(Secret("x" * 1024), *longest)


@pytest.mark.parametrize("text", ["p\ud800", "p\0", "\0p"])
def test_what_is_no_character_is_in_no_password(text: str) -> None:
    """HMAC pads its key with zeros, so that "p" and "p" with a NUL have one hash."""
    stored = hash_password(Secret("p"), "pbkdf2-sha256", 1)
    assert not verify_password(Secret(text), *stored)
    with pytest.raises(InvalidInput):
        hash_password(Secret(text))


@pytest.mark.parametrize("name", ["bcrypt", "", "PBKDF2-SHA256", "pbkdf2-sha-1"])
def test_an_unknown_algorithm_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match="is not one of argon2, pbkdf2-sha512"):
        hash_password(Secret("p"), name)
    with pytest.raises(SecretUnreadable, match="not known"):
        verify_password(Secret("p"), *keycloak(name, 1, b"v"))


@pytest.mark.parametrize(
    "stored",
    [
        ("", ""),
        ("[]", "{}"),
        ("null", "null"),
        ("{}", "{}"),
        keycloak("pbkdf2-sha256", None, b"v"),
        keycloak("pbkdf2-sha256", 0, b"v"),
        keycloak("pbkdf2-sha256", 10**9, b"v"),
        keycloak("pbkdf2-sha256", 1, b""),
        keycloak("pbkdf2-sha256", 1, bytes(100_000)),
        keycloak("pbkdf2-sha256", 1, b"v", [1]),
        keycloak("argon2", 1, b"v" * 32),
        keycloak("argon2", 1, b"v" * 32, with_parameters(memory="1048577")),
        keycloak("argon2", 1, b"v" * 32, with_parameters(parallelism="65")),
        keycloak("argon2", 1, b"v" * 32, with_parameters(version="9")),
        keycloak("argon2", 1, b"v" * 32, with_parameters(type="x")),
        keycloak("argon2", 1, b"v" * 32, with_parameters(memory="x")),
        keycloak("argon2", 1, b"v" * 32, ARGON2_PARAMETERS, salt=b"s"),
        ("[" * 100_000, "{}"),
    ],
)
def test_a_credential_that_cannot_be_computed_is_reported(stored: tuple[str, str]) -> None:
    with pytest.raises(SecretUnreadable):
        verify_password(Secret("p"), *stored)


@pytest.mark.parametrize(
    ("algorithm", "iterations", "expected"),
    [
        ("pbkdf2-sha256", 1000, False),
        ("pbkdf2-sha-256", 1000, False),
        ("pbkdf2-sha256", 1001, True),
        ("pbkdf2-sha256", None, True),
        ("pbkdf2-sha512", 1000, True),
        (None, None, True),
    ],
)
def test_a_hash_unlike_the_realms_rule_needs_a_new_one(
    algorithm: str | None, iterations: int | None, *, expected: bool
) -> None:
    stored = keycloak("pbkdf2-sha256", 1000, pbkdf2("sha256", "p", 32))
    assert needs_rehash(*stored, algorithm, iterations) is expected


def test_a_weaker_argon2_needs_a_new_hash_the_default_does_not() -> None:
    assert not needs_rehash(*hash_password(Secret("p")))
    weaker = keycloak("argon2", 5, bytes(32), with_parameters(memory="256"))
    assert needs_rehash(*weaker)


async def test_the_pool_hashes_and_verifies_while_the_loop_goes_on() -> None:
    hasher = PooledPasswordHasher(threads=1)
    try:
        stored = await hasher.hash(
            Secret("p"), realm_id="demo", algorithm="pbkdf2-sha256", iterations=1
        )
        assert await hasher.check_password(
            Secret("p"), stored, realm_id="demo", algorithm="pbkdf2-sha256", iterations=1
        )
        assert not await hasher.check_password(
            Secret("q"), stored, realm_id="demo", algorithm="pbkdf2-sha256", iterations=1
        )
    finally:
        hasher.close()


def _threads() -> set[int]:
    return {int(task.name) for task in Path("/proc/self/task").iterdir()}


async def test_who_hashes_stands_back_for_who_answers() -> None:
    """Performance: tokens beside logins. The kernel shares a core by the niceness of threads."""
    before = _threads()
    hasher = PooledPasswordHasher(threads=2)
    await hasher.check_password(
        Secret("p"), None, realm_id="demo", algorithm="pbkdf2-sha256", iterations=1
    )
    niceness = {os.getpriority(os.PRIO_PROCESS, thread) for thread in _threads() - before}
    assert niceness == {min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)}
    hasher.close()


async def test_more_hashes_than_may_wait_are_shed_and_room_comes_back() -> None:
    hasher = PooledPasswordHasher(1, waiting=1)
    work = [
        asyncio.create_task(
            hasher.check_password(
                Secret("x"), None, realm_id="demo", algorithm="pbkdf2", iterations=200_000
            )
        )
        for _ in range(3)
    ]
    said = await asyncio.gather(*work, return_exceptions=True)
    assert [type(one) for one in said] == [bool, bool, Overloaded]
    await hasher.check_password(
        Secret("x"), None, realm_id="demo", algorithm="pbkdf2", iterations=1
    )
    hasher.close()


@pytest.mark.parametrize(
    ("stored", "cost"),
    [
        (None, [90_000, 1]),
        (("pbkdf2-sha256", 90_000), [90_000, 1]),
        (("pbkdf2-sha256", 30_000), [30_000, 60_001]),
        (("pbkdf2-sha256", 90_001), [90_001, 1]),
        (("pbkdf2-sha512", 30_000), [30_000, 90_000, 1]),
    ],
)
def test_a_check_that_fails_takes_the_rounds_of_a_new_hash(
    monkeypatch: pytest.MonkeyPatch, stored: tuple[str, int] | None, cost: list[int]
) -> None:
    """Measured in rounds of the real derivation, not in time: the machine may be busy."""
    rounds: list[int] = []
    derive = PBKDF2HMAC

    def counting(algorithm: Any, length: int, salt: bytes, iterations: int) -> Any:
        rounds.append(iterations)
        return derive(algorithm, length, salt, iterations)

    made = None if stored is None else hash_password(Secret("x"), *stored)
    monkeypatch.setattr(password_schemes, "PBKDF2HMAC", counting)
    assert not check_password(Secret("y"), made, "pbkdf2-sha256", 90_000)
    assert rounds == cost


_KINDS = (("pbkdf2", 70), ("pbkdf2-sha256", 40), ("pbkdf2-sha512", 30), ("argon2", 2))
_ARGON2 = with_parameters(memory="64")


@given(
    costs=st.lists(st.tuples(st.sampled_from(_KINDS), st.integers(1, 60)), max_size=6),
    stored=st.none() | st.integers(0, 5),
    policy=st.sampled_from(_KINDS[:3]),
)
def test_a_failed_check_does_the_same_work_whatever_is_stored(
    costs: list[tuple[tuple[str, int], int]], stored: int | None, policy: tuple[str, int]
) -> None:
    """Two hashes of each kind in use and of new ones: their number takes time as well."""
    in_use = [_stored_with(name, count) for (name, _), count in costs]
    known = dearest_costs(cost for made, _ in in_use if (cost := hash_cost_of(made)) is not None)
    chosen = None if stored is None or stored >= len(in_use) else in_use[stored]
    done: Counter[str | tuple[str, str]] = Counter()
    with pytest.MonkeyPatch.context() as patched:
        for scheme in (password_schemes.Pbkdf2, password_schemes.Argon2):
            patched.setattr(scheme, "matches", _counting(done))
        assert not check_password(Secret("y"), chosen, *policy, known)
    most = {cost.kind[0]: cost.iterations for cost in known}
    most[policy[0]] = max(policy[1], most.get(policy[0], 0))
    assert done == Counter(
        {name: rounds + 1 for name, rounds in most.items()} | {("hashes", name): 2 for name in most}
    )


def _stored_with(name: str, iterations: int) -> tuple[str, str]:
    return keycloak(name, iterations, bytes(32), _ARGON2 if name == "argon2" else {})


def _counting(done: Counter[str | tuple[str, str]]) -> Callable[..., bool]:
    def matches(_: object, password: str, stored: StoredPassword) -> bool:
        del password
        done[stored.algorithm] += stored.iterations
        done["hashes", stored.algorithm] += 1
        return False

    return matches


@pytest.mark.parametrize(
    ("iterations", "rounded"), [(1, 1), (99, 99), (101, 110), (27_500, 28_000), (600_000, 600_000)]
)
def test_costs_are_rounded_up_to_two_digits(iterations: int, rounded: int) -> None:
    cost = hash_cost_of(_stored_with("pbkdf2-sha-256", iterations)[0])
    assert cost is not None
    assert (cost.kind, cost.iterations) == (("pbkdf2-sha256", ()), rounded)


@pytest.mark.parametrize(
    "made", ["", "[]", "null", '{"algorithm": "bcrypt", "hashIterations": 1}', '{"algorithm": 1}']
)
def test_what_is_never_computed_has_no_cost(made: str) -> None:
    assert hash_cost_of(made) is None
    assert hash_cost_of(_stored_with("pbkdf2-sha256", 3_000_001)[0]) is None


def test_the_dearest_kinds_are_bounded() -> None:
    sizes = [with_parameters(memory=str(64 * number)) for number in range(1, 9)]
    made = [keycloak("argon2", 5, bytes(32), parameters)[0] for parameters in sizes]
    found = dearest_costs(cost for each in made if (cost := hash_cost_of(each)) is not None)
    assert len(found) == MOST_HASH_KINDS
    assert {int(dict(cost.kind[1])["memory"]) for cost in found} == {320, 384, 448, 512}


def test_a_right_password_is_right_whatever_a_rehash_costs() -> None:
    made = hash_password(Secret("x"), "pbkdf2-sha256", 2)
    assert check_password(Secret("x"), made, "pbkdf2-sha512", 1)


@pytest.mark.parametrize(
    ("algorithm", "iterations"),
    [(None, 74), ("argon2", 210_000), ("pbkdf2-sha-256", 3_000_001), ("argon2", -1)],
)
def test_iterations_that_would_take_minutes_are_refused(
    algorithm: str | None, iterations: int
) -> None:
    with pytest.raises(InvalidInput, match="hashIterations"):
        hash_password(Secret("p"), algorithm, iterations)


class Uncomputable(AssertionError):
    """A hash was computed that must not be."""


@pytest.fixture
def nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every computation fail the test."""

    def refuse(*_: object, **__: object) -> Any:
        raise Uncomputable

    monkeypatch.setattr(password_schemes, "PBKDF2HMAC", refuse)
    monkeypatch.setattr(password_schemes, "_passlib_argon2", refuse)


TOO_EXPENSIVE = {
    "argon2 of 1 GiB, 100 passes": keycloak(
        "argon2", 100, bytes(32), with_parameters(memory="1048576")
    ),
    "argon2 of 64 MiB, 9 passes": keycloak("argon2", 9, bytes(32), with_parameters(memory="65536")),
    "argon2 of 9 lanes": keycloak("argon2", 1, bytes(32), with_parameters(parallelism="9")),
    "argon2 of 101 passes": keycloak("argon2", 101, bytes(32), with_parameters(memory="64")),
    "argon2 of 129 bytes": keycloak("argon2", 1, bytes(129), ARGON2_PARAMETERS),
    "argon2 without memory": keycloak("argon2", 1, bytes(32)),
    "10,000,000 rounds": keycloak("pbkdf2-sha256", 10_000_000, bytes(32)),
    "3,000,001 rounds, two blocks": keycloak("pbkdf2-sha256", 3_000_001, bytes(64)),
    "a hash of 513 bytes": keycloak("pbkdf2", 1000, bytes(513)),
    "infinite rounds": ('{"algorithm":"pbkdf2","hashIterations":Infinity}', "{}"),
}


@pytest.mark.usefixtures("nothing_is_computed")
@pytest.mark.parametrize("stored", TOO_EXPENSIVE.values(), ids=TOO_EXPENSIVE.keys())
def test_a_stored_hash_above_the_maximum_is_never_computed(stored: tuple[str, str]) -> None:
    with pytest.raises(SecretUnreadable):
        verify_password(Secret("p"), *stored)


@pytest.mark.parametrize("stored", TOO_EXPENSIVE.values(), ids=TOO_EXPENSIVE.keys())
def test_a_hash_above_the_maximum_fails_at_equal_cost(
    monkeypatch: pytest.MonkeyPatch, stored: tuple[str, str]
) -> None:
    rounds: list[int] = []

    class Counted:
        def __init__(self, _: object, length: int, __: bytes, iterations: int) -> None:
            rounds.append(iterations)
            self.length = length

        def derive(self, _: bytes) -> bytes:
            return b"x" * self.length

    monkeypatch.setattr(password_schemes, "PBKDF2HMAC", Counted)
    assert not check_password(Secret("p"), stored, "pbkdf2-sha256", 90_000)
    assert rounds == [90_000, 1]


@pytest.mark.parametrize(
    ("algorithm", "most"),
    [("argon2", 73), ("pbkdf2", 3_000_000), ("pbkdf2-sha512", 1_500_000)],
)
def test_a_rule_above_the_maximum_costs_it_and_never_rehashes(
    monkeypatch: pytest.MonkeyPatch, algorithm: str, most: int
) -> None:
    """Such a rule was stored by an earlier version."""
    computed: list[int] = []
    for scheme in (password_schemes.Pbkdf2, password_schemes.Argon2):
        monkeypatch.setattr(
            scheme, "matches", lambda _, __, stored: computed.append(stored.iterations)
        )
    assert not check_password(Secret("p"), None, algorithm, 10_000_000)
    assert computed == [most, 1]
    with pytest.raises(InvalidInput, match=f"1 to {most} for {algorithm}"):
        hash_password(Secret("p"), algorithm, 10_000_000)
    stored = keycloak("pbkdf2-sha256", 1000, bytes(32))
    assert not needs_rehash(*stored, algorithm, 10_000_000)


@pytest.mark.parametrize("name", ["argon2", "pbkdf2", "pbkdf2-sha256", "pbkdf2-sha512"])
def test_keycloaks_defaults_are_well_inside_the_limits(name: str) -> None:
    scheme = HASH_SCHEME_OF[name]
    assert 2 * scheme.iterations <= scheme.most_iterations


@pytest.mark.parametrize("name", ["pbkdf2", "pbkdf2-sha256", "pbkdf2-sha512"])
def test_one_block_of_a_long_pbkdf2_hash_is_computed(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each block costs all iterations again: 26 of them for 512 bytes of SHA-1."""
    lengths: list[int] = []
    derive = PBKDF2HMAC

    def counting(algorithm: Any, length: int, salt: bytes, iterations: int) -> Any:
        lengths.append(length)
        return derive(algorithm, length, salt, iterations)

    monkeypatch.setattr(password_schemes, "PBKDF2HMAC", counting)
    assert not verify_password(Secret("p"), *keycloak(name, 1, bytes(512)))
    assert lengths == [{"pbkdf2": 20, "pbkdf2-sha256": 32, "pbkdf2-sha512": 64}[name]]


def test_a_scheme_with_another_digest_needs_no_second_entry() -> None:
    scheme = HashScheme("pbkdf2-sha384", 48, 1000, 1000, digest="sha384")
    algorithm = password_schemes.Pbkdf2(scheme)
    made = algorithm.hash_password("pässword", 1000)
    assert made.value == hashlib.pbkdf2_hmac("sha384", "pässword".encode(), made.salt, 1000)
    assert algorithm.matches("pässword", made)
    assert not algorithm.matches("password", made)


_FIRST_HASHES = """
import sys, threading
from gateway.crypto.passwords import ALGORITHMS

sys.setswitchinterval(1e-6)
together, made = threading.Barrier(8), []

def hash_one():
    together.wait()
    made.append(ALGORITHMS["argon2"].hash_password("password", 1))

threads = [threading.Thread(target=hash_one) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(8 - len(made))
"""


def test_the_first_passwords_of_a_process_may_come_at_once() -> None:
    """The library of Argon2 is loaded with the first of them, in whichever threads they are."""
    for _ in range(6):
        done = subprocess.run([sys.executable, "-c", _FIRST_HASHES], check=False)
        assert done.returncode == 0
