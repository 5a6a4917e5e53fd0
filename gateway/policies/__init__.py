"""The rules for new passwords: one gate in front of every way in, one file for each rule.

The rules of the realm are asked in the order of the table, what costs a hash last; the first that
is broken refuses. Rules that say how passwords are hashed or how long they live are none of these.
Keycloak: 5.1, where the order is unspecified
"""

from typing import Final, Protocol

from gateway.domain.realm import PasswordPolicy
from gateway.policies.candidate import Candidate
from gateway.policies.description import RuleDescription
from gateway.policies.digits import Digits
from gateway.policies.length import Length
from gateway.policies.lower_case import LowerCase
from gateway.policies.max_length import MaxLength
from gateway.policies.not_contains_username import NotContainsUsername
from gateway.policies.not_email import NotEmail
from gateway.policies.not_username import NotUsername
from gateway.policies.password_age import PasswordAge
from gateway.policies.password_blacklist import PasswordBlacklist
from gateway.policies.password_history import PasswordHistory
from gateway.policies.regex_pattern import RegexPattern
from gateway.policies.special_chars import SpecialChars
from gateway.policies.upper_case import UpperCase


class NewPasswordRule(Protocol):
    """A rule by its name in `passwordPolicy`."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> RuleDescription:
        """What the grammar of `passwordPolicy` and the server information say of it."""
        ...

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        """Return where the password keeps the rule, raise PasswordRefused where it does not."""
        ...


POLICIES: Final[tuple[NewPasswordRule, ...]] = (
    Length(),
    MaxLength(),
    Digits(),
    LowerCase(),
    UpperCase(),
    SpecialChars(),
    NotUsername(),
    NotContainsUsername(),
    NotEmail(),
    RegexPattern(),
    PasswordBlacklist(),
    PasswordHistory(),
    PasswordAge(),
)


async def check_new_password(policy: PasswordPolicy, candidate: Candidate) -> None:
    """Return where the password may be set; raises PasswordRefused with the first broken rule."""
    for rule in POLICIES:
        for given in policy.rules:
            if given.name == rule.name:
                await rule.check(candidate, given.argument)
