"""What a list names more than once is found in one pass."""

from typing import Any

import pytest

from gateway.representations.json_input import unrepeated
from gateway.representations.refusals import repeated


class Compared(str):
    """A name that counts how often it is compared with another one."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        """Compare as text does, and count."""
        Compared.times += 1
        return super().__eq__(other)

    def __hash__(self) -> int:
        """Hash as text does."""
        return super().__hash__()


def names(number: int) -> list[Compared]:
    Compared.times = 0
    return [Compared(each) for each in (*range(number), number - 1)]


def test_what_comes_twice_is_told_once_and_in_order() -> None:
    assert repeated("abcbaa") == ["a", "b"]
    assert repeated([]) == []


def test_a_long_list_is_gone_through_once() -> None:
    """Compared each with each, 80,000 clients of an import would stop a worker for minutes."""
    assert repeated(names(1000)) == ["999"]
    assert Compared.times <= 10_000


def test_a_repeated_name_in_an_object_is_found_in_one_pass() -> None:
    pairs: list[tuple[str, Any]] = [(name, 1) for name in names(1000)]
    with pytest.raises(ValueError, match='"999" twice'):
        unrepeated(pairs)
    assert Compared.times <= 10_000
