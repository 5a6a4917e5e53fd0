"""What one step of a sign-in comes to: a value, which HTTP or the password grant answers with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.authentication.engine.account_changes import NO_CHANGES, AccountChanges
from gateway.authentication.errors import SignInRefused
from gateway.domain.authentication import AuthenticationSession, Challenge, MessageKey
from gateway.domain.sessions import UserSession
from gateway.domain.users import User


@dataclass(frozen=True, slots=True)
class Challenged:
    """The user fills in a form; `failure` is what was wrong with the one before, for the event."""

    session: AuthenticationSession
    challenge: Challenge
    failure: SignInRefused | None = None
    account_changes: AccountChanges = NO_CHANGES
    """What the form before has changed in the account."""
    event_details: Mapping[str, str] = field(default_factory=dict)
    """Further details of the event of a failure."""

    @property
    def execution(self) -> str | None:
        """The id of the execution that waits for the form."""
        return self.session.execution


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The user is signed in.

    `joins` is the session of the same user in this browser, which goes on; None begins a new one.
    `is_fresh` says that credentials were used: `auth_time` is now; otherwise the session of the
    browser was enough (single sign-on). `session_notes` are for the user session.
    """

    session: AuthenticationSession
    user: User
    level: int | None = None
    used: frozenset[str] = frozenset()
    joins: UserSession | None = None
    is_fresh: bool = True
    session_notes: Mapping[str, str] = field(default_factory=dict)
    action_status: str | None = None
    """What became of the action that the client asked for: `success`, `cancelled` or `error`."""
    account_changes: AccountChanges = NO_CHANGES
    event_details: Mapping[str, str] = field(default_factory=dict)
    """Further details of the event."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The sign-in ended without success: an error page, or an OAuth error.

    A required action before may have changed the account all the same.
    """

    session: AuthenticationSession
    error: SignInRefused
    account_changes: AccountChanges = NO_CHANGES


@dataclass(frozen=True, slots=True)
class Ended:
    """The sign-in is over, and the account was deleted: a page shows the text of `message`.

    `locale` is the language of the user, empty where none is set.
    """

    session: AuthenticationSession
    message: MessageKey
    locale: str
    account_changes: AccountChanges = NO_CHANGES


@dataclass(frozen=True, slots=True)
class PageExpired:
    """The form was that of another step: the page says so and offers to continue or to restart."""

    session: AuthenticationSession


@dataclass(frozen=True, slots=True)
class Replayed:
    """The form was sent before, or the page was opened again while the form was processed.

    The current page of `session` is shown again. `account_changes` are what the form has changed.
    """

    session: AuthenticationSession
    account_changes: AccountChanges = NO_CHANGES


Step = Challenged | SignedIn | Refused | Ended | PageExpired | Replayed
