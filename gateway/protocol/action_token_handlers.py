"""The kinds of links in mails, with their table: execute actions, reset, verify, change of address.

Keycloak: ExecuteActionsActionTokenHandler, ResetCredentialsActionTokenHandler,
UpdateEmailActionTokenHandler, VerifyEmailActionTokenHandler
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.engine import Inform, Refused
from gateway.authentication.engine.proofs import (
    credentials_mark,
    current_credential_marks,
    current_password_mark,
)
from gateway.authentication.errors import SignInRefused, SignInStopped
from gateway.authentication.profile_updates import (
    EmailUpdates,
    LinkEnded,
    OwnProfile,
    ProfileRejected,
    pending_email,
)
from gateway.domain.authentication import ActionTokenKind
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import UPDATE_EMAIL, VERIFY_EMAIL, FlowUse
from gateway.domain.ports.storage import Database
from gateway.protocol.action_tokens import (
    ActionTokenHandler,
    Confirmation,
    LinkVisit,
    credentials_changed,
    redirect_target,
    refused_link,
)
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.browser_sign_in import (
    BrowserSignIn,
    Outcome,
    followed_link,
    offered_flows,
)
from gateway.protocol.sessions import Sessions


def require_same_address(visit: LinkVisit, message: PageMessage) -> None:
    """Raise PageError where the user has another address than the link was sent to."""
    if visit.token.email is None or visit.token.email != visit.user.email:
        raise _another_address(visit, message)


async def mark_verified(updates: AccountUpdates, visit: LinkVisit, message: PageMessage) -> None:
    """Store that the address is verified; raises PageError where it was changed meanwhile."""
    realm = visit.request.realm.realm
    try:
        async with updates.begin_update(realm.id, visit.user.id) as update:
            if update.user.email != visit.token.email:
                raise _another_address(visit, message)
            await update.replace(replace(update.user, email_verified=True), performed=VERIFY_EMAIL)
    except SignInRefused as refusal:
        raise disabled_meanwhile(refusal) from refusal


def disabled_meanwhile(refusal: SignInRefused) -> PageError:
    """Return the page for a user who was disabled or removed since the link was checked."""
    message, error = PageMessage.accountDisabledMessage, refusal.event_error
    return refused_link(message, error, reason="disabled or removed meanwhile")


def _another_address(visit: LinkVisit, message: PageMessage) -> PageError:
    return refused_link(
        message,
        EventError.INVALID_EMAIL,
        reason="the address of the user is another one",
        client=visit.client.client,
    )


def _require_offered(visit: LinkVisit, actions: Iterable[str]) -> None:
    """Raise PageError where an action is off or missing; Keycloak checks one kind of link alone."""
    if not all(map(visit.request.realm.sign_in.offers, actions)):
        raise refused_link(
            PageMessage.invalidTokenRequiredActions,
            EventError.RESOLVE_REQUIRED_ACTIONS,
            reason="an action was disabled or removed",
            client=visit.client.client,
        )


_ADDRESS_CHANGED: Final = PageMessage.linkNotValidMessage


class ExecuteActionsLink:
    """Begins the actions; the link proves the address that it was sent to.

    Unlike in Keycloak, a change of a credential ends the link. Keycloak:
    ExecuteActionsActionTokenHandler
    """

    kind: ClassVar = ActionTokenKind.EXECUTE_ACTIONS
    event: ClassVar = EventType.EXECUTE_ACTIONS

    def __init__(self, sign_in: BrowserSignIn, updates: AccountUpdates, database: Database) -> None:
        self._sign_in = sign_in
        self._updates = updates
        self._database = database

    async def check_visit(self, visit: LinkVisit) -> None:
        require_same_address(visit, _ADDRESS_CHANGED)
        await self._marks(visit)
        _require_offered(visit, visit.token.actions)

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        return Confirmation(
            "confirmExecutionOfActions",
            visit.client.client,
            actions=visit.token.actions,
            locale=visit.user.locale,
        )

    async def act(self, visit: LinkVisit) -> Outcome:
        """Mark the address as verified, and ask for the first action."""
        await mark_verified(self._updates, visit, _ADDRESS_CHANGED)
        visit.record()
        request = visit.request
        password, credentials = await self._marks(visit)
        return await self._sign_in.begin_by_link(
            request,
            followed_link(request.realm, visit.client, redirect_target(visit)),
            visit.browser,
            user=visit.user,
            actions=visit.token.actions,
            password=password,
            credentials=credentials,
        )

    async def _marks(self, visit: LinkVisit) -> tuple[str, str]:
        async with self._database.read() as stores:
            credentials = await current_credential_marks(stores, visit.user)
            password = await current_password_mark(stores, visit.user)
        if visit.token.credentials != credentials_mark(credentials):
            raise credentials_changed(visit)
        return password, credentials


_CONFIRM_RESET: Final = "confirmResetCredentials"
_RESET_NOT_VALID: Final = PageMessage.linkNotValidMessage


class ResetCredentialsLink:
    """Runs the rest of the flow; the link proves the address that it was sent to.

    It runs in a new sign-in of this browser, so no planted session gains anything. Keycloak:
    ResetCredentialsActionTokenHandler
    """

    kind: ClassVar = ActionTokenKind.RESET_CREDENTIALS
    event: ClassVar = EventType.RESET_PASSWORD

    def __init__(self, sign_in: BrowserSignIn, updates: AccountUpdates, database: Database) -> None:
        self._sign_in = sign_in
        self._updates = updates
        self._database = database

    async def check_visit(self, visit: LinkVisit) -> None:
        require_same_address(visit, _RESET_NOT_VALID)
        if FlowUse.RESET_CREDENTIALS not in offered_flows(visit.request.realm):
            message, error = PageMessage.resetCredentialNotAllowedMessage, EventError.NOT_ALLOWED
            client = visit.client.client
            raise refused_link(message, error, reason="the realm has no reset", client=client)
        async with self._database.read() as stores:
            password = await current_password_mark(stores, visit.user)
        if password != visit.token.password:
            raise credentials_changed(visit)

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        return Confirmation(_CONFIRM_RESET, visit.client.client, locale=visit.user.locale)

    async def act(self, visit: LinkVisit) -> Outcome:
        """Go on with the flow; the address was shown to be the user's."""
        await mark_verified(self._updates, visit, _RESET_NOT_VALID)
        visit.record()
        request = visit.request
        return await self._sign_in.begin_reset(
            request,
            followed_link(request.realm, visit.client),
            visit.browser,
            user=visit.user,
            waiting=visit.sign_in,
            password=visit.token.password or "",
        )


class UpdateEmailLink:
    """Changes the address to that asked for last. Keycloak: UpdateEmailActionTokenHandler."""

    kind: ClassVar = ActionTokenKind.UPDATE_EMAIL
    event: ClassVar = EventType.UPDATE_EMAIL

    def __init__(self, emails: EmailUpdates, sessions: Sessions, database: Database) -> None:
        self._emails = emails
        self._sessions = sessions
        self._database = database

    async def check_visit(self, visit: LinkVisit) -> None:
        token, user = visit.token, visit.user
        if not visit.request.realm.sign_in.offers(UPDATE_EMAIL):
            raise _update_cancelled(visit)
        if not _new_address(visit).may_change_email:
            raise _update_cancelled(visit)
        if token.email != user.email or token.new_email != pending_email(user):
            raise _update_cancelled(visit)
        async with self._database.read() as stores:
            password = await current_password_mark(stores, user)
        if password != token.password:
            raise _update_cancelled(visit)

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        address, locale = visit.token.new_email or "", visit.user.locale
        return Confirmation("confirmEmailUpdate", visit.client.client, (address,), locale=locale)

    async def act(self, visit: LinkVisit) -> Outcome:
        """Change the address, and end other sessions where the user asked for it."""
        request, client = visit.request, visit.client.client
        try:
            change = await self._emails.confirm(_new_address(visit), visit.token)
        except LinkEnded as ended:
            raise _update_cancelled(visit) from ended
        except ProfileRejected as rejected:
            first = rejected.violations[0]
            request.event.error = EventError.EMAIL_IN_USE
            arguments = tuple(map(str, first.parameters))
            return Refused(SignInStopped(EventError.EMAIL_IN_USE, first.message, arguments), client)
        except SignInRefused as refusal:
            raise disabled_meanwhile(refusal) from refusal
        visit.record(**change.details)
        if visit.token.ends_other_sessions:
            realm, keep = request.realm.realm, visit.browser.user_session
            await self._sessions.log_out_others(realm, visit.user.id, keep=keep, now=request.now)
        return Inform(
            "emailUpdated",
            client,
            (change.after.email or "",),
            title="emailUpdatedTitle",
            locale=visit.user.locale,
        )


def _new_address(visit: LinkVisit) -> OwnProfile:
    return OwnProfile(visit.request.realm, unlocks_email=True)


def _update_cancelled(visit: LinkVisit) -> PageError:
    return refused_link(
        PageMessage.emailVerificationCancelled,
        EventError.INVALID_EMAIL,
        reason="another address, or no change is waited for",
        client=visit.client.client,
    )


_CONFIRM_ADDRESS: Final = "confirmEmailAddressVerification"
_STALE_LINK: Final = PageMessage.staleEmailVerificationLink


class VerifyEmailLink:
    """Marks the user's present address as verified. Keycloak: VerifyEmailActionTokenHandler."""

    kind: ClassVar = ActionTokenKind.VERIFY_EMAIL
    event: ClassVar = EventType.VERIFY_EMAIL

    def __init__(self, sign_in: BrowserSignIn, updates: AccountUpdates) -> None:
        self._sign_in = sign_in
        self._updates = updates

    async def check_visit(self, visit: LinkVisit) -> None:
        require_same_address(visit, _STALE_LINK)
        _require_offered(visit, (VERIFY_EMAIL,))

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        """Name the account as well: who owns the address may not have registered it."""
        realm, user = visit.request.realm.realm, visit.user
        named = (visit.token.email or "", user.username, realm.display_name or realm.name)
        return Confirmation(_CONFIRM_ADDRESS, visit.client.client, named, locale=user.locale)

    async def act(self, visit: LinkVisit) -> Outcome:
        """Verify the address; the sign-in of this browser that waits for it goes on."""
        await mark_verified(self._updates, visit, _STALE_LINK)
        visit.record(**{Detail.EMAIL: visit.token.email or ""})
        if visit.sign_in is not None:
            return await self._sign_in.resume(visit.request, visit.sign_in, visit.browser)
        return Inform(
            "emailVerifiedMessage",
            visit.client.client,
            continue_url=redirect_target(visit),
            locale=visit.user.locale,
        )


def action_token_handlers(
    sign_in: BrowserSignIn, updates: AccountUpdates, sessions: Sessions, database: Database
) -> tuple[ActionTokenHandler, ...]:
    """Return what acts for each kind of link."""
    return (
        VerifyEmailLink(sign_in, updates),
        ExecuteActionsLink(sign_in, updates, database),
        UpdateEmailLink(EmailUpdates(updates), sessions, database),
        ResetCredentialsLink(sign_in, updates, database),
    )
