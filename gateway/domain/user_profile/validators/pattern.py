r"""`pattern`: the whole value matches `pattern`; `error-message` replaces the message.

Patterns are Python's, which differ from Java's in rare things (`\p{...}`): what cannot be read,
or could match for hours, is refused with the profile. A value of more than 1024 characters
matches nothing, and a value is refused where the patterns of the whole profile would take longer
than one evaluation may. Keycloak: PatternValidator
"""

from collections.abc import Sequence
from typing import Final

from gateway.domain.limits.patterns import PatternMatches, Verdict, pattern_problem
from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding

TOO_COSTLY: Final = "error-pattern-too-costly"


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
        # What is stored was examined then, and is examined again before it is matched.
        reason = None if configuration.stored else pattern_problem(pattern)
        if reason is not None:
            configuration.wrong("pattern", pattern, reason)
            return _nothing
        return _check_of(pattern, message)


def _check_of(pattern: str, message: str) -> Check:
    def check(values: Sequence[str], matches: PatternMatches) -> Finding | None:
        for verdict in (matches.verdict(pattern, value) for value in values):
            if verdict is not Verdict.MATCHES:
                differs = verdict is Verdict.DIFFERS
                return Finding(message if differs else TOO_COSTLY, (pattern,))
        return None

    return check


def _nothing(_values: object, _matches: object) -> None:
    """Check nothing: the configuration has been refused."""
