"""`maxLength(n)`: at most n characters, 64 where no number stands. Keycloak: 5.1."""

from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import number_argument


class MaxLength:
    """The rule, with its number."""

    name = "maxLength"
    description = number_argument("Maximum Length", "64")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 64)
        if len(candidate.text) > wanted:
            raise PasswordRefused("MaxLength", "maximum length {0}.", wanted)
