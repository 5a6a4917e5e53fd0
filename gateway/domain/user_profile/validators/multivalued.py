"""`multivalued`: from `min` to `max` values; an attribute for one value has at most one.

Keycloak: MultiValueValidator
"""

from collections.abc import Sequence
from typing import Final

from gateway.domain.limits.patterns import PatternMatches
from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding


class Multivalued:
    """The validator."""

    name: Final = "multivalued"

    def configured(self, configuration: Configuration) -> Check:
        """Return the check; `max` is needed."""
        least, most = configuration.integer("min") or 0, configuration.integer("max")
        if not configuration.has("max"):
            configuration.missing("max")
        elif most is not None and most < least:
            configuration.wrong("max")
        return at_most(least, most)


def at_most(least: int, most: int | None) -> Check:
    """Return the check of how many values there are."""

    def check(values: Sequence[str], _matches: PatternMatches) -> Finding | None:
        fine = least <= len(values) and (most is None or len(values) <= most)
        return None if fine else Finding("error-invalid-multivalued-size", (least, most))

    return check
