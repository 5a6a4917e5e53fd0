"""`notUsername`: not the user name, in capitals or not. Keycloak: 5.1."""

from gateway.domain.users import canonical_name
from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import no_argument


class NotUsername:
    """The rule; it takes no argument and reads none."""

    name = "notUsername"
    description = no_argument("Not Username")

    async def check(self, candidate: Candidate, argument: str | None) -> None:  # noqa: ARG002 - the port's
        if canonical_name(candidate.text) == canonical_name(candidate.username):
            raise PasswordRefused("NotUsername", "must not be equal to the username.")
