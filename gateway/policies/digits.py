"""`digits(n)`: at least n decimal digits of any script.

Keycloak: password policy `digits`
"""

from typing import Final

from gateway.policies.candidate import Candidate, PasswordRefused

_DEFAULT: Final = 1


class Digits:
    """The rule, with its number."""

    name: Final = "digits"

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or _DEFAULT)
        if sum(map(str.isdecimal, candidate.text)) < wanted:
            raise PasswordRefused(
                "invalidPasswordMinDigitsMessage",
                f"Invalid password: must contain at least {wanted} numerical digits.",
            )
