"""Failures that cross rooms. `http/errors.py` turns each into a response.

RealmgateError
├── StoreUnavailable        a database or Redis did not answer: 503, Retry-After, fail closed
├── Overloaded              more work was asked for than there is room to let wait: 503, Retry-After
├── InvalidInput            input refused field by field: paths, what was given, what is allowed
├── RealmNotFound           no realm of that name
├── AlreadyExists           a unique name or id is taken
├── UnusableSetting         a setting of a provider, or a key, that cannot be used; public text
├── InvalidToken            a JWT that must be rejected, with the reason
└── SecretUnreadable        a sealed value that the configured encryption key does not open
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from gateway.domain.events import EventError

_MOST_SHOWN: Final = 100


class RealmgateError(Exception):
    """The root of every failure the product raises on purpose."""


class StoreUnavailable(RealmgateError):
    """A store did not answer; the caller may try again after `retry_after`."""

    def __init__(
        self, store: str, retry_after: timedelta = timedelta(seconds=2), *, reason: str = ""
    ) -> None:
        """Name the store: `sql` or `redis`; `reason` is its error, for logs and health."""
        super().__init__(f"{store} is not available" + (f": {reason}" if reason else ""))
        self.store = store
        self.retry_after = retry_after


class Overloaded(RealmgateError):
    """There is no room to let more work wait; the caller may try again after `retry_after`."""

    def __init__(self, retry_after: timedelta = timedelta(seconds=2)) -> None:
        super().__init__("too many requests wait already")
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field: `path` as in `clients[0].attributes.x`, `given` safe to print.

    `sentence` says what is wrong where "given" and "expected" do not, as of a missing thing.
    `mistyped` is set for JSON of another type than the field's.
    """

    path: str
    given: str
    allowed: str
    sentence: str = field(default="", kw_only=True)
    mistyped: bool = field(default=False, kw_only=True)

    def __str__(self) -> str:
        if self.sentence:
            return f"{self.path}: {self.sentence}"
        return f"{self.path}: {self.given} given, {self.allowed} expected"


@dataclass(frozen=True, slots=True)
class RepeatedName(FieldError):
    """A unique name that the input has more than once, or that is taken."""


class InvalidInput(RealmgateError):
    """Input with one or more refused fields; nothing was changed."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        """Carry every refused field, not only the first; the text has the first hundred."""
        shown = [str(error) for error in errors[:_MOST_SHOWN]]
        if len(errors) > _MOST_SHOWN:
            shown.append(f"and {len(errors) - _MOST_SHOWN} more")
        super().__init__("; ".join(shown))
        self.errors = errors

    @property
    def mistyped(self) -> bool:
        """Whether a field is JSON of another type than it has to be."""
        return any(error.mistyped for error in self.errors)

    @property
    def is_conflict(self) -> bool:
        """Whether repeated names are all that is wrong."""
        return bool(self.errors) and all(isinstance(error, RepeatedName) for error in self.errors)


class RealmNotFound(RealmgateError):
    """No realm of that name exists."""


class AlreadyExists(RealmgateError):
    """A unique name or identifier is taken; `str()` is Keycloak's text, which names it."""


class UnusableSetting(RealmgateError):
    """A setting of a provider, or a key, that cannot be used; `str()` is public."""


class InvalidToken(RealmgateError):
    """A JWT that must be rejected; `str()` is for logs, `event_error` the error of the event."""

    def __init__(self, reason: str, event_error: str = EventError.INVALID_TOKEN) -> None:
        super().__init__(reason)
        self.event_error = event_error


class SecretUnreadable(RealmgateError):
    """A sealed value was altered, or sealed under another encryption key."""
