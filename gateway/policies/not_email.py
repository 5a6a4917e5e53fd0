"""`notEmail`: not the e-mail address; a user without an address passes. Keycloak: 5.1."""

from gateway.domain.users import canonical_name
from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import no_argument


class NotEmail:
    """The rule; it takes no argument and reads none."""

    name = "notEmail"
    description = no_argument("Not Email")

    async def check(self, candidate: Candidate, argument: str | None) -> None:  # noqa: ARG002 - the port's
        if candidate.email and canonical_name(candidate.text) == canonical_name(candidate.email):
            raise PasswordRefused("NotEmail", "must not be equal to the email.")
