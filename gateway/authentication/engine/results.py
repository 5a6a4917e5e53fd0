"""The result of one step of a sign-in, and the changes that it made to the account."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from gateway.authentication.errors import SignInRefused
from gateway.domain.authentication import AuthenticationSession, Challenge
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventType
from gateway.domain.sessions import UserSession
from gateway.domain.users import User

_END_SESSIONS: Final = "logout-sessions"
"""The field of forms: with `on` the user's sessions in other browsers end."""


@dataclass(frozen=True, slots=True)
class AccountChange:
    """A change of an account, or a refused change: an event of its own."""

    kind: EventType
    details: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    """Why it was refused; None for a change."""


@dataclass(frozen=True, slots=True)
class AccountChanges:
    """The changes of one request.

    `ends_other_sessions` says that the user's sessions in other browsers end.
    """

    changes: tuple[AccountChange, ...] = ()
    ends_other_sessions: bool = False

    def followed_by(self, other: Self) -> "AccountChanges":
        """Return both, in this order."""
        ends = self.ends_other_sessions or other.ends_other_sessions
        return AccountChanges((*self.changes, *other.changes), ends)


def ends_other_sessions(form: Mapping[str, str]) -> bool:
    """Tell whether a form asks to end the user's sessions in other browsers."""
    return form.get(_END_SESSIONS) == "on"


def credential_changes(
    kinds: Iterable[EventType],
    credential_type: str,
    form: Mapping[str, str],
    more: Mapping[str, str] | None = None,
) -> AccountChanges:
    """Return the events of a credential that a form has set, with the user's other sessions.

    `more` are further details.
    """
    details = {Detail.CREDENTIAL_TYPE: credential_type, **(more or {})}
    changes = tuple(AccountChange(kind, details) for kind in kinds)
    return AccountChanges(changes, ends_other_sessions(form))


def refused_credential(
    kinds: Iterable[EventType], credential_type: str, error: str, reason: str | None = None
) -> AccountChanges:
    """Return the events of a credential that was refused."""
    details = {Detail.CREDENTIAL_TYPE: credential_type}
    if reason is not None:
        details[Detail.REASON] = reason
    return AccountChanges(tuple(AccountChange(kind, details, error) for kind in kinds))


NO_CHANGES: Final = AccountChanges()


@dataclass(frozen=True, slots=True)
class Challenged:
    """The user fills in a form; `failure` is the refusal of the form before, for the event."""

    session: AuthenticationSession
    challenge: Challenge
    client: Client
    failure: SignInRefused | None = None
    account_changes: AccountChanges = NO_CHANGES
    """The changes that the form before has made."""
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
    """The result of the action that the client asked for: `success`, `cancelled` or `error`."""
    account_changes: AccountChanges = NO_CHANGES
    event_details: Mapping[str, str] = field(default_factory=dict)
    """Further details of the event."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The sign-in ended without success: an error page, or an OAuth error.

    A required action before may have changed the account all the same. Without a session the
    sign-in has not begun. Only where the client is known the page names it.
    """

    error: SignInRefused
    client: Client | None = None
    session: AuthenticationSession | None = None
    account_changes: AccountChanges = NO_CHANGES


@dataclass(frozen=True, slots=True)
class Inform:
    """A link or an action is done: a page says so, and begins no session.

    `session` is the sign-in that has ended so, if it was one.
    """

    message: str
    """The key of a text."""
    client: Client | None = None
    arguments: tuple[str, ...] = field(default=(), repr=False)
    title: str | None = None
    """The key of a text; without it the message is the title."""
    continue_url: str = field(default="", repr=False)
    """Where a button leads to; it was verified to be an address of the client."""
    locale: str = ""
    """The language of the user; empty where none is set."""
    signs_out: bool = False
    """The account is gone, and with it the cookies of its session."""
    session: AuthenticationSession | None = None
    account_changes: AccountChanges = NO_CHANGES


@dataclass(frozen=True, slots=True)
class PageExpired:
    """The form was that of another step: the page says so and offers to continue or to restart."""

    session: AuthenticationSession
    client: Client
    account_changes: AccountChanges = NO_CHANGES


@dataclass(frozen=True, slots=True)
class Replayed(PageExpired):
    """The form was sent before, or the page was opened again while the form was processed.

    `account_changes` are those of the form.
    """


SignInResult = Challenged | SignedIn | Refused | Inform | PageExpired
"""The results of the engine, which pages and the password grant read."""
