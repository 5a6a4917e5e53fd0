"""A password that is to be set, with all that a rule may ask about it; and how one is refused."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.patterns import PatternMatches
from gateway.domain.secrets import Secret


class PasswordRefused(InvalidInput):
    """The password breaks a rule of the realm: Keycloak's message key, and its English text.

    The key is `invalidPassword<rule>Message`; `arguments` take the place of `{0}` in its texts.
    Keycloak: 5.1.
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
    """The password, whose it would be, and what was there before."""

    password: Secret
    username: str
    now: datetime
    email: str | None = None
    current: EarlierPassword | None = None
    former: Sequence[EarlierPassword] = ()
    """Those before the current one, newest first."""
    blacklists: PasswordBlacklists = field(default=NO_BLACKLISTS)
    matches: PatternMatches = field(default_factory=PatternMatches, compare=False, repr=False)
    """Does the matches of patterns, for all rules."""

    @property
    def text(self) -> str:
        return self.password.reveal()
