"""`integer`, `double` and `length`: a number, or a count of characters, from `min` to `max`.

Keycloak: 0.2 (family C), IntegerValidator, DoubleValidator, LengthValidator
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_LEAST, _MOST = -(2**63), 2**63 - 1
_DOUBLE: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_OUT_OF_RANGE: Final = "error-number-out-of-range"
_NUMBER_MESSAGES: Final = (_OUT_OF_RANGE, f"{_OUT_OF_RANGE}-too-small", f"{_OUT_OF_RANGE}-too-big")
_BAD_LENGTH: Final = "error-invalid-length"
_LENGTH_MESSAGES: Final = (_BAD_LENGTH, f"{_BAD_LENGTH}-too-short", f"{_BAD_LENGTH}-too-long")

NumberT = TypeVar("NumberT", int, float)


@dataclass(frozen=True, slots=True)
class _Limits(Generic[NumberT]):
    """The smallest and the largest allowed number; None is no limit."""

    least: NumberT | None
    most: NumberT | None
    messages: tuple[str, str, str]
    """Of a number outside of both limits, below the only limit, above the only limit."""

    def check(self, number: NumberT) -> Finding | None:
        too_small = self.least is not None and number < self.least
        too_large = self.most is not None and number > self.most
        if not too_small and not too_large:
            return None
        beyond, below, above = self.messages
        message = above if self.least is None else below if self.most is None else beyond
        return Finding(message, (self.least, self.most))


def _limits(
    configuration: Configuration,
    read: Callable[[str], NumberT | None],
    messages: tuple[str, str, str] = _NUMBER_MESSAGES,
) -> _Limits[NumberT]:
    """Return `min` and `max`; notes a `max` that is below `min`."""
    least, most = read("min"), read("max")
    if least is not None and most is not None and most < least:
        configuration.wrong("max")
    return _Limits(least, most, messages)


def integer(configuration: Configuration) -> Check:
    """Require whole numbers of 64 bits."""
    limits = _limits(configuration, configuration.integer)

    def check(text: str) -> Finding | None:
        if not _INTEGER.fullmatch(text) or not _LEAST <= int(text) <= _MOST:
            return Finding("error-invalid-number")
        return limits.check(int(text))

    return each(check)


def double(configuration: Configuration) -> Check:
    """Require numbers, with or without a fraction; neither infinity nor NaN is one."""
    limits = _limits(configuration, configuration.number)

    def check(text: str) -> Finding | None:
        number = float(text) if _DOUBLE.fullmatch(text) else math.inf
        return limits.check(number) if math.isfinite(number) else Finding("error-invalid-number")

    return each(check)


def length(configuration: Configuration) -> Check:
    """Limit the number of characters; one of the limits is required.

    Blanks at both ends do not count unless `trim-disabled` is set.
    """
    limits = _limits(configuration, configuration.integer, _LENGTH_MESSAGES)
    if not (configuration.has("min") or configuration.has("max")):
        configuration.missing("min", "max")
    counts_blanks = configuration.flag("trim-disabled")
    return each(lambda text: limits.check(len(text if counts_blanks else text.strip())))
