"""`iso-date`: a day as `2027-01-31`. Keycloak: IsoDateValidator; Spec: RFC 3339 `full-date`."""

import re
from datetime import date
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class IsoDate:
    """The validator."""

    name: Final = "iso-date"

    def configured(self, _configuration: Configuration) -> Check:
        """Return the check."""
        return each(_check)


def _check(text: str) -> Finding | None:
    if _DATE.fullmatch(text):
        try:
            date.fromisoformat(text)
        except ValueError:
            pass
        else:
            return None
    return Finding("error-invalid-date", (text,))
