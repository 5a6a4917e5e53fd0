"""What the doctor finds: a problem, where it is, and its remedy."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, of nginx with the line at fault; `remedy` is empty where the problem says it."""

    problem: str
    remedy: str
    place: Place | None = None


class Outcome(StrEnum):
    """How an examination ended; one that was not done proves nothing."""

    OK = "ok"
    WARNING = "warning"
    """It works, and should be changed: the exit code stays 0."""
    WRONG = "wrong"
    NOT_DONE = "not done"


@dataclass(frozen=True, slots=True)
class Examination:
    """A check or an attack. `text` says what is in order, or why it was not done.

    `sources` are public threads about the same mistake.
    """

    name: str
    outcome: Outcome
    text: str = ""
    findings: tuple[Finding, ...] = ()
    sources: tuple[str, ...] = ()


class ProblemFound(Exception):
    """A problem; `str()` says what, and what to do."""


class NotChecked(Exception):
    """A check that another problem prevents; `str()` says why."""


class WarningFound(Exception):
    """Something that works and should be changed."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__()
        self.findings = findings
