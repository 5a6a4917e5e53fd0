r"""`pattern`: the whole value matches `pattern`; `error-message` replaces the message.

Patterns are Python's, which differ from Java's in rare things (`\p{...}`): what cannot be read,
or could match for hours, is refused with the profile. A value of more than 1024 characters
matches nothing. Keycloak: PatternValidator
"""

import re
from typing import Final

from gateway.domain.distinguished_names.patterns import LONGEST_FOR_PATTERN, is_bounded_pattern
from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each


class Pattern:
    """The validator."""

    name: Final = "pattern"

    def configured(self, configuration: Configuration) -> Check:
        """Return the check."""
        pattern = configuration.text("pattern")
        message = configuration.text("error-message") or "error-pattern-no-match"
        if not pattern:
            configuration.missing("pattern")
            return _nothing
        reason = _unusable(pattern)
        if reason is not None:
            configuration.wrong("pattern", pattern, reason)
            return _nothing

        def check(text: str) -> Finding | None:
            if len(text) <= LONGEST_FOR_PATTERN and re.fullmatch(pattern, text):
                return None
            return Finding(message, (pattern,))

        return each(check)


def _unusable(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return None if is_bounded_pattern(pattern) else "It may match for hours"


def _nothing(_values: object) -> None:
    """Check nothing: the configuration has been refused."""
