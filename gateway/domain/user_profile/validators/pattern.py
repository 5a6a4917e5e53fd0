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


def pattern(configuration: Configuration) -> Check:
    """Require values that match the whole pattern."""
    expression = configuration.text("pattern")
    message = configuration.text("error-message") or "error-pattern-no-match"
    if not expression:
        configuration.missing("pattern")
        return _no_check
    # What is stored was examined then, and is examined again before it is matched.
    reason = None if configuration.stored else pattern_problem(expression)
    if reason is not None:
        configuration.wrong("pattern", expression, reason)
        return _no_check

    def check(values: Sequence[str], matches: PatternMatches) -> Finding | None:
        for verdict in (matches.verdict(expression, value) for value in values):
            if verdict is not Verdict.MATCHES:
                differs = verdict is Verdict.DIFFERS
                return Finding(message if differs else TOO_COSTLY, (expression,))
        return None

    return check


def _no_check(_values: object, _matches: object) -> None:
    """Check nothing: the configuration was refused."""
