"""`regexPattern(p)`: the whole password matches p. Keycloak: password policy `regexPattern`.

A pattern that could take longer than anybody waits is refused when the realm is written.
"""

import re
from typing import Final

from gateway.policies.candidate import Candidate, PasswordRefused


class RegexPattern:
    """The rule; it may stand several times."""

    name: Final = "regexPattern"

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        """Raise PasswordRefused where the password breaks it."""
        if re.fullmatch(argument or "", candidate.text) is None:
            raise PasswordRefused(
                "invalidPasswordRegexPatternMessage",
                "Invalid password: fails to match regex pattern(s).",
            )
