"""`upperCase(n)`: at least n capital letters. Keycloak: 5.1."""

from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import number_argument


class UpperCase:
    """The rule, with its number."""

    name = "upperCase"
    description = number_argument("Uppercase Characters", "1")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 1)
        if sum(map(str.isupper, candidate.text)) < wanted:
            raise PasswordRefused(
                "MinUpperCaseChars", "must contain at least {0} upper case characters.", wanted
            )
