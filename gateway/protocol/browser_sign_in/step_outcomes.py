"""Outcomes of the engine's steps up to the end of the sign-in: a page, or a response."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gateway.authentication.engine import Challenged, Refused, SignedIn, SignInResult
from gateway.authentication.errors import (
    AccountNotSetUp,
    ActionForbidden,
    SignInRefused,
    SignInStopped,
)
from gateway.domain.authentication import Challenge, MessageKey
from gateway.domain.events import EventError, EventType
from gateway.domain.flows import FlowUse
from gateway.domain.ports.lookups import UserEntry
from gateway.protocol.authorization import Prompt
from gateway.protocol.browser_sign_in.outcomes import (
    AlreadySignedIn,
    Outcome,
)
from gateway.protocol.browser_sign_in.purposes import Purposes
from gateway.protocol.browser_sign_in.visit import (
    Browser,
    BrowserRequestContext,
    note_changes,
    note_failure,
)
from gateway.protocol.consents import ConsentDetail, ConsentItem, Consents, requested_items
from gateway.protocol.errors import OAuthError
from gateway.protocol.events import note_refusal
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_completion import FinishedSignIn

_NO_FLOW: Final = (EventType.LOGIN, EventError.NOT_ALLOWED, MessageKey.UNEXPECTED_ERROR)
_UNUSABLE: Final = {
    FlowUse.REGISTRATION: (
        EventType.REGISTER,
        EventError.REGISTRATION_DISABLED,
        MessageKey.REGISTRATION_NOT_ALLOWED,
    ),
    FlowUse.RESET_CREDENTIALS: (
        EventType.RESET_PASSWORD,
        EventError.NOT_ALLOWED,
        MessageKey.RESET_NOT_ALLOWED,
    ),
}
"""Event, error and text of a flow that cannot be used, by the use of the sign-in."""


def note_challenge(visit: BrowserRequestContext, step: Challenged) -> None:
    """Note the event of the form before; with `prompt=none`, raises the error for the client."""
    if Prompt.NONE in visit.asked.prompt:
        raise _needs_user(visit, step.challenge)
    if step.failure is None:
        visit.request.event.withdraw()
    else:
        note_failure(visit, step.session, step.failure)
        visit.request.event.details |= step.event_details


def _needs_user(visit: BrowserRequestContext, challenge: Challenge) -> OAuthError:
    """Return the error for a client that wants no page to be shown; it is not recorded.

    Applications ask so to find out whether there is a session, each time that a page is loaded.
    """
    if challenge.required_action is not None:
        return visit.purpose.refusal("interaction_required", None)
    return visit.purpose.refusal("login_required", None)


def with_message(outcome: Outcome, message: MessageKey) -> Outcome:
    """Return the outcome with a message on its page, where it has none."""
    if not isinstance(outcome, Challenged) or outcome.challenge.message is not None:
        return outcome
    return replace(outcome, challenge=replace(outcome.challenge, message=message))


def unusable(visit: BrowserRequestContext) -> Refused:
    """Return the page of a sign-in whose flow or user was removed, or is not permitted."""
    kind, error, message = _UNUSABLE.get(visit.use, _NO_FLOW)
    visit.request.event.kind = kind
    return stopped_sign_in(visit, error, message)


def different_user(visit: BrowserRequestContext, username: str) -> Refused:
    """Return the page of a sign-in in a browser in which another user is signed in."""
    error = EventError.DIFFERENT_USER_AUTHENTICATED
    return stopped_sign_in(visit, error, MessageKey.DIFFERENT_USER, username)


def stopped_sign_in(
    visit: BrowserRequestContext, error: str, message: str, *arguments: str
) -> Refused:
    """Return the page of a sign-in that is not the user's fault, and note the event."""
    visit.request.event.error = error
    return Refused(SignInStopped(error, message, arguments), visit.client)


def closed_sign_in(visit: BrowserRequestContext) -> Refused | None:
    """Return the page of a flow that cannot begin here; None where all is well.

    A user who is signed in does not register another one: Keycloak says so once the account
    exists, which then remains without a use.
    """
    if visit.flow is None:
        return unusable(visit)
    identity = visit.browser.identity
    if visit.use is not FlowUse.REGISTRATION or identity is None:
        return None
    return different_user(visit, identity.user.username)


def note_refused_sign_in(visit: BrowserRequestContext, error: SignInRefused) -> None:
    """Note the event of a sign-in that was refused; raises an error that is for the client."""
    note_refusal(visit.request.event, error)
    is_action = isinstance(error, AccountNotSetUp | ActionForbidden)
    if Prompt.NONE in visit.asked.prompt and is_action:
        raise visit.purpose.refusal("interaction_required", error.event_error)
    if isinstance(error, ActionForbidden):
        visit.request.event.withdraw()
    else:
        visit.request.event.error = error.event_error


async def note_account_changes(
    sessions: Sessions, visit: BrowserRequestContext, step: SignInResult
) -> None:
    """Note the changes of the account, and end other sessions where the user asks for it."""
    noted, session = step.account_changes, step.session
    if session is None:
        return
    note_changes(visit, session, noted.changes)
    if noted.ends_other_sessions and session.user_id is not None:
        await sessions.log_out_others(
            visit.request.realm.realm,
            session.user_id,
            keep=visit.browser.user_session,
            now=visit.request.now,
        )


async def consent_items(
    consents: Consents, visit: BrowserRequestContext, user: UserEntry
) -> tuple[ConsentItem, ...]:
    """Return the items that the user has to consent to, none where no consent is required."""
    asked, client = visit.asked, visit.client
    if visit.purpose.is_always_confirmed:
        return requested_items(client, user, asked.scopes)
    again = Prompt.CONSENT in asked.prompt
    return await consents.missing(client, user, asked.scopes, ask_again=again)


def finished_sign_in(
    visit: BrowserRequestContext, step: SignedIn, user: UserEntry, consent: ConsentDetail
) -> FinishedSignIn:
    """Return the result of a sign-in, with that of the action that the client asked for.

    The user is remembered where the realm still offers it: else the session would be over at once.
    Keycloak: 12.10 kc_action
    """
    action, status = visit.asked.action, step.action_status
    result = {}
    if action is not None and status is not None:
        result = {"kc_action": action, "kc_action_status": status}
    return FinishedSignIn(
        user=user,
        joins=None if step.is_fresh else step.joins,
        current=None if visit.browser.identity is None else visit.browser.identity.session,
        level=step.level,
        remember_me=step.session.remember_me and visit.request.realm.realm.login.remember_me,
        notes=step.session_notes,
        consent=consent,
        action=result,
    )


async def without_sign_in(
    purposes: Purposes, request: ProtocolRequest, browser: Browser, client_data: Mapping[str, str]
) -> AlreadySignedIn | Refused:
    """Answer a form of a sign-in of which the browser has kept nothing.

    Raises the error for the client to which a signed-in user is sent back, and PageError where
    `client_data` names no address of the client.
    """
    client_id = request.parameters.get("client_id")
    request.event.kind = EventType.LOGIN
    if browser.identity is not None and client_id is not None and client_data:
        stored = {"scope": "", **client_data, "client_id": client_id}
        purpose = await purposes.restore_purpose(request, stored)
        error, text = "temporarily_unavailable", "authentication_expired"
        raise purpose.refusal(error, EventError.EXPIRED_CODE, text)
    if browser.identity is not None:
        request.event.withdraw()
        return AlreadySignedIn()
    request.event.error = EventError.COOKIE_NOT_FOUND
    return Refused(SignInStopped(EventError.COOKIE_NOT_FOUND, MessageKey.COOKIE_NOT_FOUND))
