"""Random values are unpredictable, and a thread that makes many of them starves no other thread."""

import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from uuid import UUID

import pytest

from gateway.domain.random_values import random_bytes, random_text, uuid4, uuid_text

MANY = 20_000
NEVER = 600.0
"""A switch interval in seconds: only a call that releases the interpreter lock lets others run."""


@contextmanager
def undivided() -> Iterator[None]:
    """Let a thread keep the interpreter lock until it releases it by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(NEVER)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def turns_of_another_thread(make: Callable[[], object]) -> int:
    """Return how often another thread ran while `make` was called many times."""
    numbers = count()
    begun, ended = threading.Event(), threading.Event()

    def run() -> None:
        begun.set()
        while not ended.is_set():
            next(numbers)
            secrets.token_bytes(1)  # releases the lock, so that the other thread goes on

    thread = threading.Thread(target=run)
    with undivided():
        thread.start()
        begun.wait()
        before = next(numbers)
        for _ in range(MANY):
            make()
        turns = next(numbers) - before - 1
        ended.set()
    thread.join()
    return turns


@pytest.mark.parametrize(
    "make", [uuid4, uuid_text, lambda: random_text(32), lambda: random_bytes(16)]
)
def test_random_values_keep_the_interpreter_lock(make: Callable[[], object]) -> None:
    assert turns_of_another_thread(make) == 0


def test_the_measurement_sees_a_lock_that_is_released() -> None:
    """The other thread may be asleep on a busy machine: of many measurements one sees it."""
    assert any(turns_of_another_thread(lambda: secrets.token_bytes(16)) for _ in range(200))


def test_random_values_have_their_size_and_differ() -> None:
    identifiers = {uuid4() for _ in range(1_000)} | {UUID(uuid_text()) for _ in range(1_000)}
    assert len(identifiers) == 2_000
    assert str(UUID(text := uuid_text())) == text
    assert {(one.version, one.variant) for one in identifiers} == {(4, "specified in RFC 4122")}
    assert {len(random_bytes(size)) for size in (12, 16, 32)} == {12, 16, 32}
    assert len({random_text(32) for _ in range(1_000)}) == 1_000
    assert len(random_text(32)) == len(secrets.token_urlsafe(32)) == 43
    assert "=" not in random_text(1)
