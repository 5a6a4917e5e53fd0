"""`length`: at least `min`, at most `max` characters, blanks at both ends left out.

Keycloak: LengthValidator; `trim-disabled` counts the blanks too.
"""

from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each
from gateway.domain.user_profile.ranges import Limits, limits_of


class Length:
    """The validator."""

    name: Final = "length"

    def configured(self, configuration: Configuration) -> Check:
        """Return the check; one of the limits is needed."""
        limits = limits_of(configuration, configuration.integer)
        if not (configuration.has("min") or configuration.has("max")):
            configuration.missing("min", "max")
        counts_blanks = configuration.flag("trim-disabled")

        def check(text: str) -> Finding | None:
            length = len(text if counts_blanks else text.strip())
            return None if limits.holds(length) else _refusal(limits)

        return each(check)


def _refusal(limits: Limits[int]) -> Finding:
    return limits.refusal(
        "error-invalid-length", "error-invalid-length-too-short", "error-invalid-length-too-long"
    )
