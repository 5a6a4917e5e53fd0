"""`passwordBlacklist(file)`: not in the list. Keycloak: password policy `passwordBlacklist`.

A list that is away refuses every password: what cannot be compared is not good.
"""

from gateway.policies.candidate import Candidate, PasswordRefused


class PasswordBlacklist:
    """The rule."""

    name = "passwordBlacklist"

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        if await candidate.blacklists.contains(argument or "", candidate.password):
            raise PasswordRefused("Blacklisted", "password is blacklisted.")
