"""The realm's password rules, as given and in the given order. Keycloak: passwordPolicy."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_DAYS_WITHOUT_ARGUMENT = 365
_HISTORY_WITHOUT_ARGUMENT = 3
_AGE_WITHOUT_ARGUMENT = 30
_SECONDS_WITHOUT_ARGUMENT = 300
_CODES_WITHOUT_ARGUMENT = 4


@dataclass(frozen=True, slots=True)
class PasswordRule:
    """One rule; `argument` is the text between the brackets, None where there was none."""

    name: str
    argument: str | None = None


@dataclass(frozen=True, slots=True)
class PasswordPolicy:
    """The rules of one realm; none means that any password is accepted."""

    rules: tuple[PasswordRule, ...] = ()

    def argument(self, name: str) -> str | None:
        """Return the argument of the rule called `name`, None without rule or argument."""
        return next((rule.argument for rule in self.rules if rule.name == name), None)

    @property
    def hash_algorithm(self) -> str | None:
        """The algorithm that `hashAlgorithm` names, in the realm's own spelling."""
        return self.argument("hashAlgorithm")

    @property
    def hash_iterations(self) -> int | None:
        """The number that `hashIterations` gives."""
        argument = self.argument("hashIterations")
        return int(argument) if argument else None

    @property
    def maximum_age(self) -> timedelta | None:
        """How old a password may grow, by `forceExpiredPasswordChange`; None is for ever."""
        if all(rule.name != "forceExpiredPasswordChange" for rule in self.rules):
            return None
        days = int(self.argument("forceExpiredPasswordChange") or _DAYS_WITHOUT_ARGUMENT)
        return None if days < 0 else timedelta(days=min(days, timedelta.max.days))

    @property
    def maximum_authentication_age(self) -> timedelta | None:
        """How long ago a user who wants to change the password may have signed in.

        `maxAuthAge`, 300 seconds where it is not set; None is for ever.
        """
        seconds = int(self.argument("maxAuthAge") or _SECONDS_WITHOUT_ARGUMENT)
        return timedelta(seconds=seconds) if seconds >= 0 else None

    @property
    def recovery_codes_threshold(self) -> int:
        """How many recovery codes are too few: `recoveryCodesWarningThreshold`, 4 without it."""
        return int(self.argument("recoveryCodesWarningThreshold") or _CODES_WITHOUT_ARGUMENT)

    def expires_at(self, set_at: datetime) -> datetime | None:
        """Return the last instant at which a password set at `set_at` is valid; None: always."""
        age = self.maximum_age
        # A policy may ask for more days than there are instants for.
        if age is None or age > datetime.max.replace(tzinfo=UTC) - set_at:
            return None
        return set_at + age

    @property
    def remembered(self) -> int:
        """How many former passwords are kept beside the current one, by `passwordHistory`."""
        return max(0, self._number("passwordHistory", _HISTORY_WITHOUT_ARGUMENT) - 1)

    @property
    def remembered_for(self) -> timedelta:
        """How long former passwords are kept besides, by `passwordAge`."""
        return timedelta(days=max(0, self._number("passwordAge", _AGE_WITHOUT_ARGUMENT)))

    def _number(self, name: str, without_argument: int) -> int:
        if all(rule.name != name for rule in self.rules):
            return 0
        return int(self.argument(name) or without_argument)
