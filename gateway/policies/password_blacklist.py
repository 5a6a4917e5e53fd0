"""`passwordBlacklist(file)`: not in the list. Keycloak: password policy `passwordBlacklist`.

A list that is away refuses every password: what cannot be compared is not good.
"""

from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import RuleDescription, file_name_argument


class PasswordBlacklist:
    """The rule."""

    name = "passwordBlacklist"
    description = RuleDescription(file_name_argument, "Password Blacklist", "String")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        if await candidate.blacklists.contains(argument or "", candidate.password):
            raise PasswordRefused("Blacklisted", "password is blacklisted.")
