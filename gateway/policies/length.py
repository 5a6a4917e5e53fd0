"""`length(n)`: at least n characters, 8 where no number stands.

Keycloak: password policy `length`
"""

from typing import Final

from gateway.policies.candidate import Candidate, PasswordRefused

_DEFAULT: Final = 8


class Length:
    """The rule, with its number."""

    name: Final = "length"

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or _DEFAULT)
        if len(candidate.text) < wanted:
            raise PasswordRefused(
                "invalidPasswordMinLengthMessage",
                f"Invalid password: minimum length {wanted}.",
            )
