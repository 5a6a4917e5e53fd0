"""What a measurement yields: figures, gates they are held against, and their table."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Gate:
    """The bound a figure must keep, and the one we would like."""

    bound: float
    stretch: float
    at_least: bool

    def keeps(self, value: float) -> bool:
        """Tell whether the bound is kept."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        """Write it as in the table of budgets."""
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {self.bound:g} ({self.stretch:g})"


def at_least(bound: float, stretch: float) -> Gate:
    """More is better."""
    return Gate(bound, stretch, at_least=True)


def at_most(bound: float, stretch: float) -> Gate:
    """Less is better."""
    return Gate(bound, stretch, at_least=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, named in the words of the table."""

    name: str
    value: float
    unit: str = ""
    gate: Gate | None = None

    def document(self) -> dict[str, Any]:
        """Return it for results.json."""
        document: dict[str, Any] = {"name": self.name, "value": _rounded(self.value)}
        if self.unit:
            document["unit"] = self.unit
        if self.gate is not None:
            document |= {
                "gate": self.gate.bound,
                "stretch": self.gate.stretch,
                "more_is_better": self.gate.at_least,
                "kept": self.gate.keeps(self.value),
            }
        return document

    def line(self) -> str:
        """Return its line of the table."""
        shown = f"{number(_rounded(self.value))} {self.unit}".rstrip()
        verdict = ""
        if self.gate is not None:
            verdict = f"{'kept  ' if self.gate.keeps(self.value) else 'MISSED'} gate {self.gate}"
        return f"  {self.name:<66} {shown:>14}  {verdict}".rstrip()


@dataclass(frozen=True, slots=True)
class Result:
    """What one row found."""

    figures: tuple[Figure, ...]
    how: str


def lines(title: str, result: Result) -> Iterable[str]:
    """Return a row of the table."""
    yield title
    for figure in result.figures:
        yield figure.line()


def number(value: float) -> str:
    """Write a number as people read it."""
    return f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:g}"


_THOUSAND = 1_000
_DIGITS = 4


def _rounded(value: float) -> float:
    """Keep the digits that mean something."""
    return float(f"{value:.{_DIGITS}g}")
