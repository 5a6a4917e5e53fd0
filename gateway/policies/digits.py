"""`digits(n)`: at least n decimal digits of any script. Keycloak: 5.1."""

from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import number_argument


class Digits:
    """The rule, with its number."""

    name = "digits"
    description = number_argument("Digits", "1")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 1)
        if sum(map(str.isdecimal, candidate.text)) < wanted:
            raise PasswordRefused(
                "MinDigits", "must contain at least {0} numerical digits.", wanted
            )
