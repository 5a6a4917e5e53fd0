"""`notContainsUsername`: the user name stands nowhere in it, in capitals or not. Keycloak: 5.1."""

from gateway.domain.users import canonical_name
from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import no_argument


class NotContainsUsername:
    """The rule; it takes no argument and reads none."""

    name = "notContainsUsername"
    description = no_argument("Not Contains Username")

    async def check(self, candidate: Candidate, argument: str | None) -> None:  # noqa: ARG002 - the port's
        if canonical_name(candidate.username) in canonical_name(candidate.text):
            raise PasswordRefused("NotContainsUsername", "Can not contain the username.")
