"""One request of a sign-in while it runs: its input, its state, and the interfaces of its steps."""

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import ClassVar, Final, Protocol

from gateway.authentication.accounts import Account
from gateway.authentication.engine.results import NO_CHANGES, AccountChange, AccountChanges
from gateway.authentication.errors import NotIdentified, SignInRefused
from gateway.domain.authentication import (
    AuthenticationSession,
    Challenge,
    ExecutionStatus,
    MessageKey,
    Stage,
)
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.flows import SignInFlow
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.sessions import UserSession
from gateway.domain.users import Credential, User


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """The user session of the browser's identity cookie, which was verified, and its user."""

    session: UserSession
    user: User
    authenticated_at: datetime


@dataclass(frozen=True, slots=True)
class RequestedAuthentication:
    """The requirements of the client.

    `level` is the level of authentication; with `level_is_essential` a lower one is an error.
    `reauthenticate` and `max_age` require credentials again where the browser is signed in.
    `flow_level` is the level that completing the flow reaches, whatever levels are within it.
    `action` is a required action that the client asks for (`kc_action`), `action_parameter` what
    follows its name behind a colon.
    `login_hint` fills in the user name; `remembered_username` as well, from an earlier sign-in.
    """

    level: int | None = None
    level_is_essential: bool = False
    flow_level: int | None = None
    reauthenticate: bool = False
    max_age: timedelta | None = None
    action: str | None = None
    action_parameter: str | None = field(default=None, repr=False)
    login_hint: str | None = field(default=None, repr=False)
    remembered_username: str | None = field(default=None, repr=False)


_ANYTHING: Final = RequestedAuthentication()


@dataclass(frozen=True, slots=True)
class SignInContext:
    """One request of one browser or client, from an address.

    `scopes` are the names of the client scopes that were requested, defaults included.
    `certificate` is that of the TLS connection. `has_pages` says that the user can be asked to
    perform required actions, which otherwise refuse the sign-in; `may_ask` that this request may
    show one. `issuer` is the URL of the realm, which links of mails begin with.
    """

    realm: RealmEntry
    client: Client
    address: str
    now: datetime
    scopes: frozenset[str] = frozenset()
    certificate: ClientCertificate | None = None
    browser_session: BrowserSession | None = None
    has_pages: bool = False
    may_ask: bool = True
    issuer: str = ""
    requested: RequestedAuthentication = _ANYTHING
    form: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The credentials of the password grant; pages submit theirs."""


Config = Mapping[str, str]
BROWSER_SESSION: Final = "browser-session"
"""The note with the id of the browser's session, where its user or its levels count."""
PROVEN_AT: Final = "proven-at"
"""The note with the second, since 1970, in which credentials were used first."""
JOINED: Final = "single-sign-on"
"""The note of a sign-in for which the session of the browser was enough."""
Form = Mapping[str, str]
FORCED_SIGN_IN: Final = "forced-sign-in"
"""The note of a flow that changes credentials, after which the user signs in with them."""
ASKED_BY_LINK: Final = "asked-by-link"
"""The note of a sign-in that has sent a link to a new address before it has a session."""
UNKNOWN_USER: Final = "unknown-user"
"""The note of a sign-in whose user name no user has; it goes on as if there were one."""


_DETAILS: Final = "event-details"
"""The note with the details of the event of the whole sign-in, as JSON."""
_REQUIRED: Final = "required-actions"
"""The note with the aliases of the actions that this sign-in requires, as JSON."""


def required_by(session: AuthenticationSession, actions: Iterable[str]) -> AuthenticationSession:
    """Return a session that requires more actions of its user than the account does."""
    return session.with_note(_REQUIRED, json.dumps(list(dict.fromkeys(actions))))


@dataclass(slots=True)
class SignInAttempt:
    """One request: its context, the state that it changes, and its result.

    The request, the configuration and the account are values; the attempt collects their changes.
    """

    context: SignInContext
    begun: AuthenticationSession
    """As it was before this request."""
    flow: SignInFlow
    account: Account | None = None
    challenge: Challenge | None = None
    failure: SignInRefused | None = None
    """Why the form before the challenge was refused."""
    information: MessageKey | None = None
    """The message of the next form, such as why the user signs in again."""
    account_changes: AccountChanges = NO_CHANGES
    """The changes that a required action has made."""
    ended_with: MessageKey | None = None
    """The message of the page where a required action has ended the sign-in and the account."""
    proven_password: tuple[Credential, Secret] | None = field(default=None, repr=False)
    event_details: dict[str, str] = field(default_factory=dict)
    """Further details of the event of this request."""
    realm: Realm = field(init=False)
    client: Client = field(init=False)
    now: datetime = field(init=False)
    scopes: frozenset[str] = field(init=False)
    """The names of the client scopes that were requested, defaults included."""
    stage: Stage = field(init=False)
    execution: str | None = field(init=False)
    required_action: str | None = field(init=False)
    user_id: str | None = field(init=False)
    attempted_username: str | None = field(init=False, repr=False)
    remember_me: bool = field(init=False)
    level: int | None = field(init=False)
    used: set[str] = field(init=False)
    """The kinds of credentials that were used so far: `password`, `cert`, `otp`."""
    statuses: dict[str, ExecutionStatus] = field(init=False)
    notes: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        before, context = self.begun, self.context
        self.realm, self.client = context.realm.realm, context.client
        self.now, self.scopes = context.now, context.scopes
        self.stage, self.execution = before.stage, before.execution
        self.required_action = before.required_action
        self.user_id, self.attempted_username = before.user_id, before.attempted_username
        self.remember_me, self.level = before.remember_me, before.level
        self.used, self.statuses = set(before.used), dict(before.statuses)
        self.notes = dict(before.notes)

    def next_session(self) -> AuthenticationSession:
        """Return the session after this request, with a new code."""
        if self.used:
            self.notes.setdefault(PROVEN_AT, str(int(self.now.timestamp())))
        return self.begun.next_step(
            stage=self.stage,
            execution=self.execution,
            required_action=self.required_action,
            user_id=self.user_id,
            attempted_username=self.attempted_username,
            remember_me=self.remember_me,
            level=self.level,
            used=frozenset(self.used),
            statuses=self.statuses,
            notes=self.notes,
        )

    @property
    def found_user(self) -> User | None:
        """The user of the name that was submitted; None where there is none."""
        return None if self.account is None else self.account.user

    @property
    def user(self) -> User:
        """The user; raises NotIdentified where no step has named one."""
        if self.account is None or self.account.user is None:
            raise NotIdentified
        return self.account.user

    @property
    def completed(self) -> frozenset[str]:
        """Aliases of the sub-flows that succeeded so far."""
        return frozenset(
            step.flow.alias
            for step in self.flow.every_step()
            if step.flow is not None and self.statuses.get(step.id) is ExecutionStatus.SUCCESS
        )

    def identify(self, account: Account, username: str | None = None) -> None:
        """Take an account as that of the user; nothing has proven it yet."""
        self.account = account
        self.user_id = None if account.user is None else account.user.id
        self.note(UNKNOWN_USER, None if self.user_id else "true")
        if username is not None:
            self.attempted_username = username

    def forget_user(self) -> None:
        """Ask for the user name again; the form keeps the submitted one."""
        self.account = self.user_id = None
        self.note(UNKNOWN_USER, None)

    @property
    def is_only_named(self) -> bool:
        """Whether the user was named, and nothing has proven who signs in.

        A page must not reveal then which credentials the user has, nor that there is such a user.
        """
        if self.account is None or self.used or self.has_joined:
            return False
        session = self.context.browser_session
        return session is None or session.user.id != self.account.guarded_as

    @property
    def own_session_id(self) -> str | None:
        """The id of the browser's session, where that is the user's; None before one begins."""
        session = self.context.browser_session
        return None if session is None or session.user.id != self.user.id else session.session.id

    @property
    def has_joined(self) -> bool:
        """Whether the session of the browser was enough."""
        return JOINED in self.notes

    def join(self) -> None:
        """Take the session of the browser as proof of the user."""
        self.note(JOINED, "true")

    @property
    def required_actions(self) -> tuple[str, ...]:
        """Aliases of the actions that this sign-in requires in addition to those of the account."""
        return tuple(json.loads(self.notes.get(_REQUIRED, "[]")))

    def require(self, alias: str) -> None:
        """Require an action of the user before this sign-in succeeds."""
        left = dict.fromkeys((*self.required_actions, alias))
        self.note(_REQUIRED, json.dumps(list(left)))

    def is_required(self, alias: str) -> bool:
        """Tell whether an action is required, and not only asked for by the client."""
        required = (*self.user.required_actions, *self.required_actions)
        return alias in required or alias != self.context.requested.action

    def performed(self, alias: str) -> None:
        """Require an action no longer."""
        left = [other for other in self.required_actions if other != alias]
        self.note(_REQUIRED, json.dumps(left) if left else None)

    def record(self, change: AccountChange) -> None:
        """Record a further event of the account with those of this request."""
        self.account_changes = self.account_changes.followed_by(AccountChanges((change,)))

    def keep_details(self, details: Mapping[str, str]) -> None:
        """Keep details for the event of the sign-in, which a later request may end."""
        self.note(_DETAILS, json.dumps({**self.kept_details, **details}))

    @property
    def kept_details(self) -> dict[str, str]:
        """Details of earlier requests for the event of the sign-in."""
        return dict(json.loads(self.notes.get(_DETAILS, "{}")))

    def note(self, name: str, text: str | None) -> None:
        """Keep a note for later requests; None removes it."""
        if text is None:
            self.notes.pop(name, None)
        else:
            self.notes[name] = text


class AuthenticatorOutcome(Enum):
    """The result of an authenticator that shows no form."""

    SUCCEEDED = auto()
    ATTEMPTED = auto()
    """It does not apply: another alternative is next, and a flow that requires it fails."""
    NOT_SET_UP = auto()
    """The user does not have the credential."""


@dataclass(frozen=True, slots=True)
class SecretCheck:
    """A secret that has to be compared. The engine does it, behind the guard against guessing.

    `prove` returns whether the secret is right; with False it does the same work and compares
    nothing. `again` returns what is shown where the secret was wrong, with the message of the
    refusal; without it the sign-in is refused.
    """

    credential: str
    prove: Callable[[bool], Awaitable[bool]]
    again: Callable[[MessageKey], Challenge] | None = None
    wrong: MessageKey = MessageKey.INVALID_USER
    """The message for a wrong secret, an unknown user and a locked account alike."""
    on_failure: Callable[[], None] | None = None
    on_success: Callable[[], None] | None = None
    is_optional: bool = False
    """Whether a refusal, where nothing is shown `again`, leaves the flow to the next alternative.

    `wrong` is the message of the form after it.
    """


Result = AuthenticatorOutcome | Challenge | SecretCheck


class Authenticator(ABC):
    """An execution of a flow that is no sub-flow. By default it has no form and no credential."""

    id: ClassVar[str]
    """Keycloak's id."""
    needs_user: ClassVar[bool] = False
    """Another step has named the user before."""
    asks_everyone: ClassVar[bool] = False
    """Where it is required it asks users without the credential too, so that a guesser learns
    nothing of them."""

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has the credential; `account` has its credentials."""
        del account
        return True

    @abstractmethod
    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the result when the flow reaches the authenticator.

        Raises SignInRefused or StoreUnavailable.
        """

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return the result of its form; raises SignInRefused or StoreUnavailable."""
        del sign_in, config, form
        return AuthenticatorOutcome.ATTEMPTED


class FlowCondition(Protocol):
    """Decides whether its sub-flow is run."""

    id: ClassVar[str]

    async def matches(self, sign_in: SignInAttempt, config: Config, flow: SignInFlow) -> bool:
        """Return whether `flow` is run; raises StoreUnavailable."""
        ...

    def succeeded(self, sign_in: SignInAttempt, config: Config) -> None:
        """Act after the success of the sub-flow that it decided about."""
        del sign_in, config


def is_set(config: Config, name: str) -> bool:
    """Return whether a flag is set."""
    return config.get(name, "").lower() == "true"
