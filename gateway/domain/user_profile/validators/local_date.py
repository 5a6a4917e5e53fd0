"""`local-date`: month, day and year with slashes, `1/31/2027`.

Keycloak: LocalDateValidator, which reads the short form of the realm's language; here it is
English for everybody.
"""

import re
from datetime import date
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_DATE: Final = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{1,4})")
_CENTURY: Final = 2000
_TWO_DIGITS: Final = 100


class LocalDate:
    """The validator."""

    name: Final = "local-date"

    def configured(self, _configuration: Configuration) -> Check:
        """Return the check."""
        return each(_check)


def _check(text: str) -> Finding | None:
    found = _DATE.fullmatch(text)
    if found is not None:
        month, day, year = map(int, found.groups())
        try:
            date(year if year >= _TWO_DIGITS else _CENTURY + year, month, day)
        except ValueError:
            pass
        else:
            return None
    return Finding("error-invalid-date")
