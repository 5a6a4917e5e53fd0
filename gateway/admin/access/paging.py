"""A page of a listing, and how much one answer may hold: the same for every kind of object."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.admin.access.errors import TooMany

LARGEST_ANSWER: Final = 10_000
"""How many objects one answer may hold."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a listing; `maximum` None asks for all of it."""

    first: int = 0
    maximum: int | None = 100

    @property
    def limit(self) -> int:
        """How many objects to read: one more than an answer may hold shows that there are more."""
        most = LARGEST_ANSWER + 1
        return most if self.maximum is None else min(self.maximum, most)


def require_one_answer(found: Sequence[object], what: str) -> None:
    """Raise TooMany where there are more objects than one answer may hold."""
    if len(found) > LARGEST_ANSWER:
        raise TooMany(f"More than {LARGEST_ANSWER} {what}: ask page by page, with first and max")
