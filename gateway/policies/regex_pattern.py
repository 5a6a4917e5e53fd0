"""`regexPattern(p)`: the whole password matches p. Keycloak: password policy `regexPattern`.

A pattern that could match for hours is refused when the realm is written; a password for which all
patterns together take too long is refused.
"""

import asyncio

from gateway.domain.limits.patterns import Verdict
from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import RuleDescription, pattern_argument


class RegexPattern:
    """The rule; it may stand several times."""

    name = "regexPattern"
    description = RuleDescription(pattern_argument, "Regular Expression", "String", repeatable=True)

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        verdict = candidate.matches.verdict(argument or "", candidate.text)
        if candidate.matches.pending:
            await asyncio.to_thread(candidate.matches.run_pending)
            verdict = candidate.matches.verdict(argument or "", candidate.text)
        if verdict is not Verdict.MATCHES:
            raise PasswordRefused("RegexPattern", "fails to match regex pattern(s).")
