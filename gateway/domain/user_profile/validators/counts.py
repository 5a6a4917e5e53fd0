"""How many values an attribute has: `multivalued`, `not-empty` and `not-blank`.

Keycloak: MultiValueValidator, NotEmptyValidator, NotBlankValidator
"""

from collections.abc import Sequence

from gateway.domain.limits.patterns import PatternMatches
from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding


def multivalued(configuration: Configuration) -> Check:
    """Require from `min` to `max` values; `max` is required."""
    least, most = configuration.integer("min") or 0, configuration.integer("max")
    if not configuration.has("max"):
        configuration.missing("max")
    elif most is not None and most < least:
        configuration.wrong("max")
    return between(least, most)


def between(least: int, most: int | None) -> Check:
    """Return the check of how many values there are; an attribute for one has at most one."""

    def check(values: Sequence[str], _: PatternMatches) -> Finding | None:
        fine = least <= len(values) and (most is None or len(values) <= most)
        return None if fine else Finding("error-invalid-multivalued-size", (least, most))

    return check


def not_empty(_: Configuration) -> Check:
    """Require a value."""
    return lambda values, _: None if values else Finding("error-empty", ((),))


def not_blank(_: Configuration) -> Check:
    """Require a value of more than blanks."""

    def check(values: Sequence[str], _: PatternMatches) -> Finding | None:
        fine = any(value.strip() for value in values)
        return None if fine else Finding("error-invalid-blank", (tuple(values),))

    return check
