"""`lowerCase(n)`: at least n small letters.

Keycloak: password policy `lowerCase`
"""

from typing import Final

from gateway.policies.candidate import Candidate, PasswordRefused

_DEFAULT: Final = 1


class LowerCase:
    """The rule, with its number."""

    name: Final = "lowerCase"

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or _DEFAULT)
        if sum(map(str.islower, candidate.text)) < wanted:
            raise PasswordRefused(
                "invalidPasswordMinLowerCaseCharsMessage",
                f"Invalid password: must contain at least {wanted} lower case characters.",
            )
