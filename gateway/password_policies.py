"""The rules for new passwords: a class for each, their table, and the check of a new password.

The rules of the realm are checked in the order of the table, rules that compute a hash last; the
first broken rule refuses. Settings for hashing and for the age of passwords are no rules of this
table. Keycloak: 5.1 password rules, where the order is unspecified; display name, type and default
of each argument; password policies `passwordAge`, `passwordBlacklist`, `regexPattern` and
`passwordHistory`, which keeps n - 1 former hashes beside the current one
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.patterns import (
    MAY_TAKE_HOURS,
    TOO_LARGE,
    PatternMatches,
    Verdict,
    pattern_problem,
)
from gateway.domain.localization import LocalizedText
from gateway.domain.realm import PasswordPolicy
from gateway.domain.secrets import Secret
from gateway.domain.users import canonical_name


class PasswordRefused(InvalidInput):
    """The password breaks a rule of the realm: Keycloak's message key, and its English text.

    The key is `invalidPassword<rule>Message`; `arguments` take the place of `{0}` in its texts.
    Keycloak: 5.1 password rules.
    """

    def __init__(self, rule: str, reason: str, *arguments: int) -> None:
        super().__init__(())
        self.key = f"invalidPassword{rule}Message"
        self.arguments = tuple(map(str, arguments))
        self.text = f"Invalid password: {reason.format(*arguments)}"

    def __str__(self) -> str:
        return self.text


class EarlierPassword(Protocol):
    """A password that the user has, or had."""

    @property
    def made_at(self) -> datetime: ...

    async def is_it(self, password: Secret) -> bool:
        """Tell whether `password` is the same; costs a hash."""
        ...


class PasswordBlacklists(Protocol):
    """The lists of forbidden passwords."""

    async def contains(self, name: str, password: Secret) -> bool:
        """Tell whether the list has the password; raises InvalidInput for a list that is away."""
        ...


class NoBlacklists:
    """There are no lists: a rule that names one refuses, since nothing could be compared."""

    async def contains(self, name: str, password: Secret) -> bool:  # noqa: ARG002 - the port's
        raise missing_blacklist(name)


def missing_blacklist(name: str) -> InvalidInput:
    """Return the refusal where a rule names a list that cannot be read."""
    allowed = "a list in the folder password-blacklists of the state folder"
    return InvalidInput((FieldError("passwordPolicy: passwordBlacklist", repr(name), allowed),))


NO_BLACKLISTS: Final = NoBlacklists()


@dataclass(frozen=True, slots=True)
class Candidate:
    """The new password, its user, and earlier passwords."""

    password: Secret
    username: str
    now: datetime
    email: str | None = None
    current: EarlierPassword | None = None
    former: Sequence[EarlierPassword] = ()
    """Earlier passwords, newest first."""
    blacklists: PasswordBlacklists = field(default=NO_BLACKLISTS)
    matches: PatternMatches = field(default_factory=PatternMatches, compare=False, repr=False)
    """Does the matches of patterns, for all rules."""

    @property
    def text(self) -> str:
        return self.password.reveal()


MAX_NUMBER: Final = 2**31 - 1
NUMBER: Final = re.compile(r"-?[0-9]{1,10}")

ArgumentCheck = Callable[[str], str | None]
"""Returns the problem of the argument, None if it is valid."""


@dataclass(frozen=True, slots=True)
class RuleDescription:
    """The check of the argument, the display name, and the argument's type and default.

    A rule without an argument has an empty `kind`. A `repeatable` rule may occur several times in
    one policy. Pages show users the text of the key `requirement` before they choose a password,
    with the argument as `{0}`; a number below `acts_from` requires nothing.
    """

    check: ArgumentCheck
    label: str
    kind: str = "int"
    default: str = ""
    repeatable: bool = False
    requirement: str = ""
    acts_from: int = 1


def number_argument(
    label: str, default: str, kind: str = "int", requirement: str = "", acts_from: int = 1
) -> RuleDescription:
    """Return the description of a rule that takes a whole number, or none."""
    return RuleDescription(
        _number_problem, label, kind, default, requirement=requirement, acts_from=acts_from
    )


def no_argument(label: str, requirement: str = "") -> RuleDescription:
    """Return the description of a rule that ignores its argument."""
    return RuleDescription(lambda _: None, label, kind="", requirement=requirement)


def pattern_argument(argument: str) -> str | None:
    """Return the problem of a regular expression."""
    if not argument:
        return "Config required"
    problem = pattern_problem(argument)
    if problem is None or problem in {MAY_TAKE_HOURS, TOO_LARGE}:
        return problem
    return "Not a valid regular expression"


def file_name_argument(argument: str) -> str | None:
    """Return the problem of a file name."""
    return None if argument and "/" not in argument else "Not a file name"


def _number_problem(argument: str) -> str | None:
    if not argument:
        return None
    if not NUMBER.fullmatch(argument) or not -1 <= int(argument) <= MAX_NUMBER:
        return "Not a valid number"
    return None


class Digits:
    """`digits(n)`: at least n decimal digits of any script."""

    name = "digits"
    description = number_argument("Digits", "1", requirement="passwordRuleDigits")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 1)
        if sum(map(str.isdecimal, candidate.text)) < wanted:
            raise PasswordRefused(
                "MinDigits", "must contain at least {0} numerical digits.", wanted
            )


class Length:
    """`length(n)`: at least n characters, 8 without a number."""

    name = "length"
    description = number_argument("Minimum Length", "8", requirement="passwordRuleLength")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 8)
        if len(candidate.text) < wanted:
            raise PasswordRefused("MinLength", "minimum length {0}.", wanted)


class LowerCase:
    """`lowerCase(n)`: at least n lower-case letters."""

    name = "lowerCase"
    description = number_argument("Lowercase Characters", "1", requirement="passwordRuleLowerCase")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 1)
        if sum(map(str.islower, candidate.text)) < wanted:
            raise PasswordRefused(
                "MinLowerCaseChars", "must contain at least {0} lower case characters.", wanted
            )


class MaxLength:
    """`maxLength(n)`: at most n characters, 64 without a number."""

    name = "maxLength"
    description = number_argument("Maximum Length", "64", requirement="passwordRuleMaxLength")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 64)
        if len(candidate.text) > wanted:
            raise PasswordRefused("MaxLength", "maximum length {0}.", wanted)


class NotContainsUsername:
    """`notContainsUsername`: the user name is not in the password, in any case of letters."""

    name = "notContainsUsername"
    description = no_argument("Not Contains Username", "passwordRuleNotContainsUsername")

    async def check(self, candidate: Candidate, argument: str | None) -> None:  # noqa: ARG002 - the port's
        if canonical_name(candidate.username) in canonical_name(candidate.text):
            raise PasswordRefused("NotContainsUsername", "Can not contain the username.")


class NotEmail:
    """`notEmail`: not the e-mail address; a user without an address passes."""

    name = "notEmail"
    description = no_argument("Not Email", "passwordRuleNotEmail")

    async def check(self, candidate: Candidate, argument: str | None) -> None:  # noqa: ARG002 - the port's
        if candidate.email and canonical_name(candidate.text) == canonical_name(candidate.email):
            raise PasswordRefused("NotEmail", "must not be equal to the email.")


class NotUsername:
    """`notUsername`: not the user name, in any case of letters."""

    name = "notUsername"
    description = no_argument("Not Username", "passwordRuleNotUsername")

    async def check(self, candidate: Candidate, argument: str | None) -> None:  # noqa: ARG002 - the port's
        if canonical_name(candidate.text) == canonical_name(candidate.username):
            raise PasswordRefused("NotUsername", "must not be equal to the username.")


_DAYS: Final = 30
_OFF: Final = -1


class PasswordAge:
    """`passwordAge(days)`: neither the current password nor one of the last `days`.

    -1 switches it off.
    """

    name = "passwordAge"
    description = number_argument(
        "Not Recently Used (In Days)", str(_DAYS), requirement="passwordRuleAge"
    )

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        days = int(argument or _DAYS)
        if days == _OFF:
            return
        current = (candidate.current,) if candidate.current is not None else ()
        age = timedelta(days=days)
        recent = [one for one in candidate.former if candidate.now - one.made_at < age]
        for earlier in (*current, *recent):
            if await earlier.is_it(candidate.password):
                raise PasswordRefused("Generic", "new password does not match password policies.")


class PasswordBlacklist:
    """`passwordBlacklist(file)`: not in the list.

    A missing list refuses every password, because nothing can be compared.
    """

    name = "passwordBlacklist"
    description = RuleDescription(
        file_name_argument, "Password Blacklist", "String", requirement="passwordRuleBlacklist"
    )

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        if await candidate.blacklists.contains(argument or "", candidate.password):
            raise PasswordRefused("Blacklisted", "password is blacklisted.")


_REMEMBERED: Final = 3


class PasswordHistory:
    """`passwordHistory(n)`: none of the last n passwords, including the current one.

    -1 switches it off; 0 and 1 forbid the current one alone.
    """

    name = "passwordHistory"
    description = number_argument(
        "Not Recently Used", str(_REMEMBERED), requirement="passwordRuleHistory", acts_from=0
    )

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or _REMEMBERED)
        if wanted == _OFF:
            return
        current = (candidate.current,) if candidate.current is not None else ()
        for earlier in (*current, *candidate.former[: max(0, wanted - 1)]):
            if await earlier.is_it(candidate.password):
                raise PasswordRefused(
                    "History", "must not be equal to any of last {0} passwords.", wanted
                )


class RegexPattern:
    """`regexPattern(p)`: the whole password matches p; the rule may occur several times.

    A pattern that could match for hours is refused when the realm is written; a password for which
    all patterns together take too long is refused.
    """

    name = "regexPattern"
    description = RuleDescription(
        pattern_argument,
        "Regular Expression",
        "String",
        repeatable=True,
        requirement="passwordRuleRegexPattern",
    )

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        verdict = candidate.matches.verdict(argument or "", candidate.text)
        if candidate.matches.pending:
            await asyncio.to_thread(candidate.matches.run_pending)
            verdict = candidate.matches.verdict(argument or "", candidate.text)
        if verdict is not Verdict.MATCHES:
            raise PasswordRefused("RegexPattern", "fails to match regex pattern(s).")


class SpecialChars:
    """`specialChars(n)`: at least n characters that are neither letters nor digits."""

    name = "specialChars"
    description = number_argument("Special Characters", "1", requirement="passwordRuleSpecialChars")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 1)
        if sum(map(_is_special, candidate.text)) < wanted:
            raise PasswordRefused(
                "MinSpecialChars", "must contain at least {0} special characters.", wanted
            )


def _is_special(character: str) -> bool:
    return not (character.isalpha() or character.isdecimal())


class UpperCase:
    """`upperCase(n)`: at least n capital letters."""

    name = "upperCase"
    description = number_argument("Uppercase Characters", "1", requirement="passwordRuleUpperCase")

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or 1)
        if sum(map(str.isupper, candidate.text)) < wanted:
            raise PasswordRefused(
                "MinUpperCaseChars", "must contain at least {0} upper case characters.", wanted
            )


class NewPasswordRule(Protocol):
    """A rule by its name in `passwordPolicy`."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> RuleDescription:
        """Its metadata in the grammar of `passwordPolicy` and in the server information."""
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


def list_requirements(policy: PasswordPolicy) -> tuple[LocalizedText, ...]:
    """Return what the rules require of a new password, for people, in the order of the table."""
    return tuple(
        text
        for rule in POLICIES
        for given in policy.rules
        if given.name == rule.name
        and (text := _requirement(rule.description, given.argument)) is not None
    )


def _requirement(described: RuleDescription, argument: str | None) -> LocalizedText | None:
    shown = argument or described.default
    if described.kind == "int":
        number = int(shown)
        shown = str(max(number, 1))
        if number < described.acts_from:
            return None
    return LocalizedText(described.requirement, (shown,))


async def check_new_password(policy: PasswordPolicy, candidate: Candidate) -> None:
    """Return where the password may be set; raises PasswordRefused with the first broken rule."""
    for rule in POLICIES:
        for given in policy.rules:
            if given.name == rule.name:
                await rule.check(candidate, given.argument)
