"""Limits of a number, or of a count, and the words for what is beyond. Keycloak: 0.2, family C."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Finding

NumberT = TypeVar("NumberT", int, float)


@dataclass(frozen=True, slots=True)
class Limits(Generic[NumberT]):
    """The smallest and the largest that are allowed, None where anything is."""

    least: NumberT | None
    most: NumberT | None

    def holds(self, number: NumberT) -> bool:
        """Tell whether the number is within."""
        return (self.least is None or number >= self.least) and (
            self.most is None or number <= self.most
        )

    def refusal(self, beyond: str, below: str, above: str) -> Finding:
        """Return the finding: by one message where there are both limits, by another for each."""
        message = above if self.least is None else below if self.most is None else beyond
        return Finding(message, (self.least, self.most))


def limits_of(
    configuration: Configuration, read: Callable[[str], NumberT | None]
) -> Limits[NumberT]:
    """Return `min` and `max`; notes a `max` that is below."""
    least, most = read("min"), read("max")
    if least is not None and most is not None and most < least:
        configuration.wrong("max")
    return Limits(least, most)


def out_of_range(limits: Limits[NumberT]) -> Finding:
    """Return the finding about a number."""
    return limits.refusal(
        "error-number-out-of-range",
        "error-number-out-of-range-too-small",
        "error-number-out-of-range-too-big",
    )
