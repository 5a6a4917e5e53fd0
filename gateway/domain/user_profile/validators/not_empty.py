"""`not-empty`: there is a value. Keycloak: NotEmptyValidator."""

from collections.abc import Sequence
from typing import Final

from gateway.domain.limits.patterns import PatternMatches
from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding


class NotEmpty:
    """The validator."""

    name: Final = "not-empty"

    def configured(self, _configuration: Configuration) -> Check:
        """Return the check."""
        return _check


def _check(values: Sequence[str], _matches: PatternMatches) -> Finding | None:
    return None if values else Finding("error-empty", ((),))
