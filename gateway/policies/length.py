"""`length(n)`: at least n characters, 8 where no number stands. Keycloak: 5.1."""

from gateway.policies.candidate import Candidate, PasswordRefused


class Length:
    """The rule, with its number."""

    name = "length"

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 8)
        if len(candidate.text) < wanted:
            raise PasswordRefused("MinLength", f"minimum length {wanted}.")
