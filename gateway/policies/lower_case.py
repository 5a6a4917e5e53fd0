"""`lowerCase(n)`: at least n small letters. Keycloak: 5.1."""

from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import number_argument


class LowerCase:
    """The rule, with its number."""

    name = "lowerCase"
    description = number_argument("Lowercase Characters", "1")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 1)
        if sum(map(str.islower, candidate.text)) < wanted:
            raise PasswordRefused(
                "MinLowerCaseChars", "must contain at least {0} lower case characters.", wanted
            )
