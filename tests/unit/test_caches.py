"""Caches of input-dependent values are bounded in bytes. CWE-770."""

import gc
import tracemalloc
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.limits.caches import SizedCache, cached, size_of

MOST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Named:
    """A value with parts."""

    name: str
    parts: tuple[str, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict)


def test_a_value_is_found_under_its_key() -> None:
    cache: SizedCache[str, str] = SizedCache(MOST)
    assert cache.get("a") is None
    cache.put("a", "1")
    assert cache.get("a") == "1"
    cache.put("a", "2")
    assert cache.get("a") == "2"
    assert len(cache) == 1


def test_what_is_used_stays_and_what_is_not_goes() -> None:
    cache: SizedCache[str, str] = SizedCache(MOST)
    cache.put("used", "1")
    cache.put("unused", "1")
    for number in range(1000):
        cache.put(f"other-{number}", "x" * 100)
        assert cache.get("used") == "1"
    assert cache.get("unused") is None


def test_a_value_that_would_push_out_the_others_is_not_kept() -> None:
    cache: SizedCache[str, str] = SizedCache(MOST)
    cache.put("a", "small")
    cache.put("a", "x" * MOST)
    assert cache.get("a") is None
    assert cache.bytes == 0


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6000), st.booleans()), max_size=300))
def test_the_bound_holds_and_no_replaced_value_comes_back(
    steps: list[tuple[int, int, bool]],
) -> None:
    cache: SizedCache[int, bytes] = SizedCache(16 * 1024)
    last: dict[int, bytes] = {}
    for number, (key, size, reads) in enumerate(steps):
        if reads:
            assert cache.get(key) in (None, last.get(key))
        else:
            last[key] = number.to_bytes(4, "big") + bytes(size)
            cache.put(key, last[key])
        assert 0 <= cache.bytes <= 16 * 1024
    cache.clear()
    assert cache.bytes == 0
    assert len(cache) == 0


def test_a_cached_function_is_called_once_also_for_none() -> None:
    calls: list[tuple[str, bool]] = []

    @cached(MOST)
    def judged(text: str, *, strict: bool = False) -> str | None:
        calls.append((text, strict))
        return text if strict else None

    assert [judged("a"), judged("a"), judged("a", strict=True)] == [None, None, "a"]
    assert calls == [("a", False), ("a", True)]


def test_a_cached_function_keeps_no_failure() -> None:
    @cached(MOST)
    def number(text: str) -> int:
        return int(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            number("x")


@pytest.mark.parametrize("longest", [10, 5_000, 20_000])
def test_the_memory_of_a_cached_function_is_bounded(longest: int) -> None:
    @cached(256 * 1024)
    def doubled(text: str) -> str:
        return text + text

    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(5_000):
            doubled(f"{number}" + "x" * longest)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown <= 256 * 1024 + 3 * longest


@given(st.lists(st.text(min_size=1, max_size=50), min_size=1))
def test_the_size_of_a_value_holds_everything_in_it(texts: list[str]) -> None:
    content = sum(map(len, {*texts}))
    for value in (
        texts,
        {*texts},
        Named("n", tuple(texts)),
        Named("n", (), dict.fromkeys(texts, "")),
    ):
        assert size_of(value) >= content


def test_the_default_of_a_field_counts_with_its_class_alone() -> None:
    @dataclass(frozen=True, slots=True)
    class Shared:
        text: str = "x" * 10_000

    assert size_of(Shared()) < 1_000
    assert size_of(Shared("y" * 10_000)) > 10_000


def test_what_is_referred_to_twice_counts_once() -> None:
    text = "x" * 10_000
    assert size_of([text] * 10) < 11_000
    assert size_of(object()) > 1_000


_SHARED = ("x" * 10_000,)


@dataclass(frozen=True, slots=True)
class _Settings:
    texts: tuple[str, ...] = field(default_factory=lambda: _SHARED)


def test_defaults_that_a_factory_shares_do_not_count() -> None:
    assert size_of(_Settings()) < 1_000
    assert size_of(_Settings(("y" * 10_000,))) > 10_000
