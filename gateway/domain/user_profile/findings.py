"""What is wrong with the values of an attribute, and the form of checks. Keycloak: 0.2."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.domain.limits.patterns import PatternMatches

Parameter = str | int | float | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Finding:
    """A key of Keycloak's messages, and the parameters of the message after the attribute."""

    message: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A finding about the attribute `field`."""

    field: str
    message: str
    parameters: tuple[Parameter, ...] = ()
    """The attribute itself first."""


Check = Callable[[Sequence[str], PatternMatches], Finding | None]
"""Checks all values of an attribute; blank ones have been removed.

The second argument does the matches of patterns, for all attributes of the evaluation.
"""


def each(check: Callable[[str], Finding | None]) -> Check:
    """Return the check of a list by that of one value: what is wrong with the first wrong one."""

    def check_all(values: Sequence[str], _matches: PatternMatches) -> Finding | None:
        found = (check(value) for value in values)
        return next((finding for finding in found if finding is not None), None)

    return check_all
