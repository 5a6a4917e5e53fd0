"""Required actions after the flow: the next one, its form, and the result of the form.

Keycloak: RequiredActionProvider, 16.1 required actions; 1.5 password grant, 12.10 authorization
(26.7)
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.levels import may_set_up
from gateway.authentication.engine.proofs import keep_credentials
from gateway.authentication.engine.results import AccountChange, AccountChanges
from gateway.authentication.engine.sign_in import Form, SignInAttempt
from gateway.authentication.errors import AccountNotSetUp, TooManyCredentials
from gateway.authentication.realm_profile import profile_violations
from gateway.authentication.recovery_codes import RECOVERY_CODES
from gateway.domain.authentication import Challenge, ExecutionStatus, MessageKey
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import (
    CREDENTIAL_OF_ACTION,
    KIND_OF,
    UPDATE_EMAIL,
    UPDATE_PASSWORD,
    VERIFY_EMAIL,
    VERIFY_PROFILE,
)
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.storage import Database
from gateway.domain.sessions import IMPERSONATOR_ID
from gateway.domain.users import MOST_CREDENTIALS, PASSWORD, Credential, User

_PERFORMED_LAST: Final = 2**31


class ExpiredPasswords:
    """Requires a new password of users whose password has expired."""

    def __init__(self, database: Database, accounts: Accounts) -> None:
        self._database = database
        self._accounts = accounts

    async def require_new_password(
        self, entry: RealmEntry, account: Account, now: datetime
    ) -> Account:
        """Return the account, which has to change an expired password; that is stored."""
        user = account.user
        if user is None or UPDATE_PASSWORD in user.required_actions:
            return account
        account = await self._accounts.load_credentials(account)
        if not has_expired_password(entry, account, now):
            return account
        async with self._database.write() as stores:
            known = await stores.users.get_for_update(entry.realm.id, user.id)
            if known is not None and UPDATE_PASSWORD not in known.required_actions:
                actions = (*known.required_actions, UPDATE_PASSWORD)
                await stores.users.replace(replace(known, required_actions=actions))
        due = replace(user, required_actions=(*user.required_actions, UPDATE_PASSWORD))
        return replace(account, user=due)


def has_expired_password(entry: RealmEntry, account: Account, now: datetime) -> bool:
    """Tell whether the password of an account with its credentials has to be changed."""
    credential = account.password
    if credential is None or UPDATE_PASSWORD in entry.sign_in.off:
        return False
    expires_at = entry.realm.password_policy.expires_at(credential.aged_since)
    return expires_at is not None and now > expires_at


async def find_pending_action(
    entry: RealmEntry,
    user: User,
    scopes: frozenset[str],
    *,
    has_pages: bool,
    ignored: frozenset[str] = frozenset(),
) -> str | None:
    """Return the alias of the required action that is next, or None.

    `scopes` are the client scopes of the sign-in, by which the user profile asks for more. With
    pages, actions count that the realm has and has not switched off. Without pages, as in the
    password grant, any action refuses the sign-in, and those that an administrator has set for the
    user count in any case, as in Keycloak. `ignored` are those that cannot be performed in this
    sign-in. Keycloak: 1.5 password grant, 12.10 authorization (26.7)
    """
    realm, rules = entry.realm, entry.sign_in
    # Whether the profile is complete is decided below, as in Keycloak, for each such action.
    left = (alias for alias in user.required_actions if alias not in ignored)
    actions = tuple(alias for alias in left if alias != VERIFY_PROFILE)
    if has_pages and actions:
        known = rules.action_order.keys() - rules.off
        actions = tuple(alias for alias in actions if alias in known)
        if UPDATE_EMAIL in actions or user.email_verified or not user.email:
            actions = tuple(alias for alias in actions if alias != VERIFY_EMAIL)
    if actions:
        return min(
            actions, key=lambda alias: (rules.action_order.get(alias, _PERFORMED_LAST), alias)
        )
    is_unverified = realm.login.verify_email and not user.email_verified
    # On pages only where there is an address.
    if is_unverified and VERIFY_EMAIL not in rules.off and (user.email or not has_pages):
        return VERIFY_EMAIL
    if VERIFY_PROFILE in rules.off or not await profile_violations(entry, user, scopes):
        return None
    return VERIFY_PROFILE


ACTION_STATUS: Final = "kc-action-status"
"""The note with the result of the action that the client asked for."""
_CANCEL: Final = "cancel-aia"
"""The button of the form."""
_REPLACED: Final = frozenset({PASSWORD, RECOVERY_CODES})
"""The types of credentials of which a new one replaces the former."""
_PASSED_OVER: Final = "ignored-actions"
"""The note with the aliases of actions that are done, or cannot be performed, in this sign-in."""
_CANCELLED: Final = AccountChanges(
    (AccountChange(EventType.CUSTOM_REQUIRED_ACTION, error=EventError.REJECTED_BY_USER),)
)
_LEVEL_TOO_LOW: Final = "Insufficient level of authentication for setting up the credential."
_TOO_MANY: Final = f"A user has at most {MOST_CREDENTIALS} credentials."


class ActionStatus(StrEnum):
    """The result of the action that the client asked for: `kc_action_status`."""

    SUCCESS = "success"
    CANCELLED = "cancelled"
    ERROR = "error"
    """The realm does not have it, no page performs it, clients may not ask for it, or the sign-in
    has not reached the level of the credential that it sets up, of which the user has too many."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The form is shown again; `refused` are the events of the refused values."""

    challenge: Challenge
    refused: AccountChanges


@dataclass(frozen=True, slots=True)
class Performed:
    """The user has performed the action; it is no longer required of the account.

    `added` and `removed` are the credentials that it has changed.
    """

    changes: AccountChanges
    added: tuple[Credential, ...] = field(default=(), repr=False)
    removed: tuple[Credential, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Ignored:
    """The action cannot be performed in this sign-in, which goes on without it.

    A client that asked for it receives an error. Keycloak: RequiredActionContext.ignore
    """

    changes: AccountChanges


@dataclass(frozen=True, slots=True)
class Ended:
    """The sign-in is over: there is no account any more. A page shows the text of `message`."""

    changes: AccountChanges
    message: MessageKey


class RequiredActionProvider(Protocol):
    """One required action."""

    @property
    def alias(self) -> str:
        """Keycloak's alias, such as UPDATE_PASSWORD."""
        ...

    @property
    def may_be_requested(self) -> bool:
        """Whether clients may ask for it by `kc_action`."""
        ...

    async def ask(self, sign_in: SignInAttempt) -> Challenge | Ignored | None:
        """Return the form to begin with, None where the user has done it.

        Only an action that the client asks for may be done already: no other one is asked for.
        Raises ActionForbidden or StoreUnavailable.
        """
        ...

    async def submit(
        self, sign_in: SignInAttempt, form: Form
    ) -> Asked | Performed | Ignored | Ended:
        """Take the form, and store its changes.

        Raises SignInRefused, ActionDeclined among it, Overloaded or StoreUnavailable.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Following:
    """The next action, None without any; `may_cancel` where only the client asks for it."""

    alias: str | None
    may_cancel: bool = False


class RequiredActions:
    """The actions that are left to do, one after the other.

    An action of `required_actions` asks for a form and takes it; it never renders.
    Keycloak: RequiredActionProvider, 16.1 required actions
    """

    def __init__(
        self,
        accounts: Accounts,
        expired: ExpiredPasswords,
        providers: tuple[RequiredActionProvider, ...],
    ) -> None:
        self._accounts = accounts
        self._expired = expired
        self._providers = {provider.alias: provider for provider in providers}

    async def ask(self, sign_in: SignInAttempt) -> Challenge | None:
        """Return the form of the next action, None where nothing is left to do.

        Raises AccountNotSetUp for an action that the user cannot perform here.
        """
        while True:
            following = await self._next(sign_in)
            sign_in.required_action = following.alias
            if following.alias is None:
                return None
            is_possible = sign_in.context.has_pages and not _is_impersonated(sign_in)
            provider = self._providers.get(following.alias) if is_possible else None
            if provider is None or following.alias in _passed_over(sign_in):
                raise AccountNotSetUp(following.alias)
            asked = await self._ask_one(provider, sign_in)
            if isinstance(asked, Challenge):
                return _completed(sign_in, following, asked)
            if asked is None:
                _pass_over(sign_in, following.alias, ActionStatus.SUCCESS)
            else:
                _ignore(sign_in, following.alias, asked)

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Challenge | None:
        """Take the form of the action that waits for the user.

        Return the form to show again; None where it was performed or cancelled, or is no longer
        required. `sign_in.ended_with` is set where it has ended the sign-in.
        """
        following, alias = await self._next(sign_in), sign_in.required_action
        provider = self._providers.get(alias or "")
        if provider is None or following.alias != alias:
            return None
        if following.may_cancel and _CANCEL in form:
            sign_in.note(ACTION_STATUS, ActionStatus.CANCELLED)
            sign_in.account_changes = _of_action(provider.alias, _CANCELLED)
            return None
        match await _submitted(provider, sign_in, form):
            case Asked(challenge, refused):
                sign_in.account_changes = _of_action(provider.alias, refused)
                return _completed(sign_in, following, challenge)
            case Ignored() as ignored:
                _ignore(sign_in, provider.alias, ignored)
                return None
            case Ended(changes, message):
                sign_in.account_changes = _of_action(provider.alias, changes)
                sign_in.ended_with = message
                return None
            case Performed(changes, added, removed):
                keep_credentials(sign_in, added=added, removed=removed)
                sign_in.account_changes = _of_action(provider.alias, changes)
                _mark_set_up(sign_in, provider.alias)
                sign_in.performed(provider.alias)
        if alias == sign_in.context.requested.action:
            sign_in.note(ACTION_STATUS, ActionStatus.SUCCESS)
        return None

    async def _ask_one(
        self, provider: RequiredActionProvider, sign_in: SignInAttempt
    ) -> Challenge | Ignored | None:
        """Ask for an action, unless there is no room for the credential that it adds."""
        kind = CREDENTIAL_OF_ACTION.get(provider.alias)
        if kind is not None and sign_in.account is not None:
            account = await self._accounts.load_credentials(sign_in.account)
            held = account.credentials or ()
            replaces = kind in _REPLACED and any(one.type == kind for one in held)
            if len(held) >= MOST_CREDENTIALS and not replaces:
                return _not_allowed(_TOO_MANY)
        return await provider.ask(sign_in)

    async def _next(self, sign_in: SignInAttempt) -> _Following:
        """Return the next action: a required one, then the one that the client asks for."""
        required = None
        if ExecutionStatus.SETUP_REQUIRED in sign_in.statuses.values():
            required = _left_by_flow(sign_in)
        account, actions = sign_in.account, sign_in.required_actions
        if required is None and account is not None:
            entry = sign_in.context.realm
            if entry.realm.password_policy.maximum_age is not None:
                account = await self._expired.require_new_password(entry, account, sign_in.now)
            user = account.user
            if user is not None:
                required = await find_pending_action(
                    entry,
                    _with_actions(user, actions) if actions else user,
                    sign_in.scopes,
                    has_pages=sign_in.context.has_pages,
                    ignored=_passed_over(sign_in) if _PASSED_OVER in sign_in.notes else frozenset(),
                )
        alias = sign_in.context.requested.action
        asked = None if alias is None else self._asked(sign_in, alias)
        if required is not None or asked is None:
            return _Following(required)
        if await may_set_up(sign_in, self._accounts):
            return _Following(asked, may_cancel=True)
        _ignore(sign_in, asked, _not_allowed(_LEVEL_TOO_LOW))
        return _Following(None)

    def _asked(self, sign_in: SignInAttempt, alias: str) -> str | None:
        """Return the action that the client asks for until it is done; note where it cannot be."""
        if ACTION_STATUS in sign_in.notes:
            return None
        provider, rules = self._providers.get(alias), sign_in.context.realm.sign_in
        if provider is not None and provider.may_be_requested and rules.offers(alias):
            return alias
        sign_in.note(ACTION_STATUS, ActionStatus.ERROR)
        return None


def _is_impersonated(sign_in: SignInAttempt) -> bool:
    """Return whether an administrator signs in as the user, for whom nothing is set up."""
    browser = sign_in.context.browser_session
    return sign_in.has_joined and browser is not None and IMPERSONATOR_ID in browser.session.notes


def _left_by_flow(sign_in: SignInAttempt) -> str | None:
    """Return the action that sets up a credential that the flow has required."""
    for step in sign_in.flow.every_step():
        if sign_in.statuses.get(step.id) is ExecutionStatus.SETUP_REQUIRED:
            return KIND_OF[step.authenticator].required_action
    return None


async def _submitted(
    provider: RequiredActionProvider, sign_in: SignInAttempt, form: Form
) -> Asked | Performed | Ignored | Ended:
    try:
        return await provider.submit(sign_in, form)
    except TooManyCredentials:  # another browser of the user has added some meanwhile
        return _not_allowed(_TOO_MANY)


def _not_allowed(reason: str) -> Ignored:
    kind, details = EventType.CUSTOM_REQUIRED_ACTION, {Detail.REASON: reason}
    return Ignored(AccountChanges((AccountChange(kind, details, EventError.NOT_ALLOWED),)))


def _passed_over(sign_in: SignInAttempt) -> frozenset[str]:
    return frozenset(filter(None, sign_in.notes.get(_PASSED_OVER, "").split(",")))


def _pass_over(sign_in: SignInAttempt, alias: str, status: ActionStatus) -> None:
    """Go on without an action; `status` is the result where the client asked for it."""
    sign_in.note(_PASSED_OVER, ",".join(sorted({*_passed_over(sign_in), alias})))
    if alias == sign_in.context.requested.action:
        sign_in.note(ACTION_STATUS, status)


def _ignore(sign_in: SignInAttempt, alias: str, ignored: Ignored) -> None:
    changes = _of_action(alias, ignored.changes)
    sign_in.account_changes = sign_in.account_changes.followed_by(changes)
    _pass_over(sign_in, alias, ActionStatus.ERROR)


def _of_action(alias: str, noted: AccountChanges) -> AccountChanges:
    """Return the changes with the action that made them, as Keycloak's events have it."""
    named = {Detail.CUSTOM_REQUIRED_ACTION: alias}
    changes = tuple(
        replace(change, details={**change.details, **named}) for change in noted.changes
    )
    return replace(noted, changes=changes)


def _with_actions(user: User, actions: tuple[str, ...]) -> User:
    """Return the user as if the actions of this sign-in were required of it."""
    both = tuple(dict.fromkeys((*user.required_actions, *actions)))
    return replace(user, required_actions=both)


def _completed(sign_in: SignInAttempt, following: _Following, challenge: Challenge) -> Challenge:
    locale = sign_in.user.locale
    return replace(challenge, locale=locale, may_cancel=following.may_cancel)


def _mark_set_up(sign_in: SignInAttempt, alias: str) -> None:
    """Mark the executions whose credential the action has set up."""
    for step in sign_in.flow.every_step():
        waits = sign_in.statuses.get(step.id) is ExecutionStatus.SETUP_REQUIRED
        if waits and KIND_OF[step.authenticator].required_action == alias:
            sign_in.statuses[step.id] = ExecutionStatus.SUCCESS
