"""`specialChars(n)`: at least n characters that are neither letters nor digits.

Keycloak: password policy `specialChars`
"""

from typing import Final

from gateway.policies.candidate import Candidate, PasswordRefused

_DEFAULT: Final = 1


class SpecialChars:
    """The rule, with its number."""

    name: Final = "specialChars"

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or _DEFAULT)
        if sum(map(_is_special, candidate.text)) < wanted:
            raise PasswordRefused(
                "invalidPasswordMinSpecialCharsMessage",
                f"Invalid password: must contain at least {wanted} special characters.",
            )


def _is_special(character: str) -> bool:
    return not (character.isalpha() or character.isdecimal())
