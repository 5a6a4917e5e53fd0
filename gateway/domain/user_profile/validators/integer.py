"""`integer`: a whole number of 64 bits, from `min` to `max`. Keycloak: IntegerValidator."""

import re
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each
from gateway.domain.user_profile.ranges import limits_of, out_of_range

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_LEAST, _MOST = -(2**63), 2**63 - 1


class Integer:
    """The validator."""

    name: Final = "integer"

    def configured(self, configuration: Configuration) -> Check:
        """Return the check."""
        limits = limits_of(configuration, configuration.integer)

        def check(text: str) -> Finding | None:
            if not _INTEGER.fullmatch(text) or not _LEAST <= int(text) <= _MOST:
                return Finding("error-invalid-number")
            return None if limits.holds(int(text)) else out_of_range(limits)

        return each(check)
