"""`length(n)`: at least n characters, 8 where no number stands. Keycloak: 5.1."""

from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import number_argument


class Length:
    """The rule, with its number."""

    name = "length"
    description = number_argument("Minimum Length", "8")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 8)
        if len(candidate.text) < wanted:
            raise PasswordRefused("MinLength", "minimum length {0}.", wanted)
