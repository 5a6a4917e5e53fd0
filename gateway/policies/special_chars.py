"""`specialChars(n)`: at least n characters that are neither letters nor digits. Keycloak: 5.1."""

from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import number_argument


class SpecialChars:
    """The rule, with its number."""

    name = "specialChars"
    description = number_argument("Special Characters", "1")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 1)
        if sum(map(_is_special, candidate.text)) < wanted:
            raise PasswordRefused(
                "MinSpecialChars", "must contain at least {0} special characters.", wanted
            )


def _is_special(character: str) -> bool:
    return not (character.isalpha() or character.isdecimal())
