"""`upperCase(n)`: at least n capital letters.

Keycloak: password policy `upperCase`
"""

from typing import Final

from gateway.policies.candidate import Candidate, PasswordRefused

_DEFAULT: Final = 1


class UpperCase:
    """The rule, with its number."""

    name: Final = "upperCase"

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or _DEFAULT)
        if sum(map(str.isupper, candidate.text)) < wanted:
            raise PasswordRefused(
                "invalidPasswordMinUpperCaseCharsMessage",
                f"Invalid password: must contain at least {wanted} upper case characters.",
            )
