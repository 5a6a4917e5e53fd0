"""`not-blank`: there is a value of more than blanks. Keycloak: NotBlankValidator."""

from collections.abc import Sequence
from typing import Final

from gateway.domain.limits.patterns import PatternMatches
from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding


class NotBlank:
    """The validator."""

    name: Final = "not-blank"

    def configured(self, _configuration: Configuration) -> Check:
        """Return the check."""
        return _check


def _check(values: Sequence[str], _matches: PatternMatches) -> Finding | None:
    fine = any(value.strip() for value in values)
    return None if fine else Finding("error-invalid-blank", (tuple(values),))
