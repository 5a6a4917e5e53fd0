"""`local-date` (`1/31/2027`) and `iso-date` (`2027-01-31`, RFC 3339 `full-date`).

Keycloak: LocalDateValidator, which reads the short form of the realm's language and here always
the English one: month, day and year with slashes; IsoDateValidator
"""

import re
from datetime import date
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_LOCAL: Final = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{1,4})")
_ISO: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_CENTURY: Final = 2000
_TWO_DIGITS: Final = 100


def local_date(_: Configuration) -> Check:
    """Require dates in the short form; a year of two digits is of this century."""

    def check(text: str) -> Finding | None:
        found = _LOCAL.fullmatch(text)
        month, day, year = map(int, found.groups()) if found else (0, 0, 0)
        fine = _is_date(year if year >= _TWO_DIGITS else _CENTURY + year, month, day)
        return None if fine else Finding("error-invalid-date")

    return each(check)


def iso_date(_: Configuration) -> Check:
    """Require dates with hyphens."""

    def check(text: str) -> Finding | None:
        found = _ISO.fullmatch(text)
        fine = found is not None and _is_date(*map(int, found.groups()))
        return None if fine else Finding("error-invalid-date", (text,))

    return each(check)


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
