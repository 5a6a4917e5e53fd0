"""`maxLength(n)`: at most n characters, 64 where no number stands.

Keycloak: password policy `maxLength`
"""

from typing import Final

from gateway.policies.candidate import Candidate, PasswordRefused

_DEFAULT: Final = 64


class MaxLength:
    """The rule, with its number."""

    name: Final = "maxLength"

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or _DEFAULT)
        if len(candidate.text) > wanted:
            raise PasswordRefused(
                "invalidPasswordMaxLengthMessage",
                f"Invalid password: maximum length {wanted}.",
            )
