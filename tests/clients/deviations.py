"""Where the answers to recorded clients differ from Keycloak's, and why.

A row explains the differences whose request and member match its patterns.
"""

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from tests.support.replay_differences import Difference


class Reason(StrEnum):
    """Why an answer may differ."""

    LEFT_OUT = "not part of the product"
    STRICTER = "stricter on purpose, and documented"
    KEYCLOAK = "a fault of Keycloak"
    LATER = "comes with a later version"
    OWN = "a text or a list of our own"
    RECORDED = "the recorded server had more in it"


@dataclass(frozen=True, slots=True)
class Deviation:
    """`request` and `member` are patterns of the shell; `member` is empty for the status."""

    request: str
    member: str
    reason: Reason
    why: str

    def __str__(self) -> str:
        return f"{self.request} {self.member}"

    def explains(self, difference: Difference) -> bool:
        """Return whether this row is about that difference."""
        return fnmatchcase(difference.request, self.request) and fnmatchcase(
            difference.member, self.member
        )


DEVIATIONS: Final[tuple[Deviation, ...]] = ()
