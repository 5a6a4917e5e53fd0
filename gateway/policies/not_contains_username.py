"""`notContainsUsername`: the user name stands nowhere in it, in capitals or not.

Keycloak: password policy `notContainsUsername`
"""

from typing import Final

from gateway.domain.users import canonical_name
from gateway.policies.candidate import Candidate, PasswordRefused


class NotContainsUsername:
    """The rule; it takes no argument and reads none."""

    name: Final = "notContainsUsername"

    async def check(self, candidate: Candidate, argument: str | None) -> None:  # noqa: ARG002 - the port's
        if canonical_name(candidate.username) in canonical_name(candidate.text):
            raise PasswordRefused(
                "invalidPasswordNotContainsUsernameMessage",
                "Invalid password: Can not contain the username.",
            )
