"""`double`: a number with a point, from `min` to `max`. Keycloak: DoubleValidator.

Neither infinity nor "not a number" is one here.
"""

import re
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each
from gateway.domain.user_profile.ranges import limits_of, out_of_range

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class Double:
    """The validator."""

    name: Final = "double"

    def configured(self, configuration: Configuration) -> Check:
        """Return the check."""
        limits = limits_of(configuration, configuration.number)

        def check(text: str) -> Finding | None:
            number = _read(text)
            if number is None:
                return Finding("error-invalid-number")
            return None if limits.holds(number) else out_of_range(limits)

        return each(check)


def _read(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if number - number == 0 else None
