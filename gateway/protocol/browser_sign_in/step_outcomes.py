"""Outcomes of the engine's steps up to the end of the sign-in: a page, or a response."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from gateway.authentication.engine import Challenged, Ended, PageExpired, SignedIn, Step
from gateway.authentication.errors import AccountNotSetUp, ActionForbidden, SignInRefused
from gateway.domain.authentication import AuthenticationSession, Challenge, MessageKey
from gateway.domain.events import EventError, EventType
from gateway.domain.flows import FlowUse
from gateway.domain.ports.lookups import UserEntry
from gateway.domain.sessions import UserSession
from gateway.protocol.authorization import Prompt
from gateway.protocol.browser_sign_in.outcomes import (
    AlreadySignedIn,
    AskUser,
    Expired,
    Inform,
    Outcome,
    Respond,
    SignInResponse,
    Stop,
)
from gateway.protocol.browser_sign_in.purposes import Purposes
from gateway.protocol.browser_sign_in.visit import Browser, Visit, note_changes, note_failure
from gateway.protocol.claims.subject import is_subject
from gateway.protocol.consents import ConsentDetail, ConsentItem, Consents, requested_items
from gateway.protocol.errors import OAuthError
from gateway.protocol.events import note_refusal
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_completion import FinishedSignIn, SessionEnded, SignInRequest

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
"""Event, error and text by what the sign-in should have begun with."""


def challenged_user(visit: Visit, step: Challenged) -> AskUser:
    """Return the form to show; with `prompt=none`, raises the error for the client."""
    if Prompt.NONE in visit.asked.prompt:
        raise _needs_user(visit, step.challenge)
    if step.failure is None:
        visit.request.event.withdraw()
    else:
        note_failure(visit, step.session, step.failure)
        visit.request.event.details |= step.event_details
    return AskUser(step.session, visit.asked, step.challenge, step.challenge.locale)


def _needs_user(visit: Visit, challenge: Challenge) -> OAuthError:
    """Return the error for a client that wants no page to be shown; it is not recorded.

    Applications ask so to find out whether there is a session, each time that a page is loaded.
    """
    if challenge.required_action is not None:
        return visit.purpose.refusal("interaction_required", None)
    return visit.purpose.refusal("login_required", None)


def with_message(outcome: Outcome, message: MessageKey) -> Outcome:
    """Return the outcome with a message on its page, where it has none."""
    if not isinstance(outcome, AskUser) or outcome.challenge.message is not None:
        return outcome
    return replace(outcome, challenge=replace(outcome.challenge, message=message))


def unusable(visit: Visit) -> Stop:
    """Return the page of a sign-in whose flow or user was removed, or is not permitted."""
    kind, error, message = _UNUSABLE.get(visit.use, _NO_FLOW)
    visit.request.event.begin(kind)
    visit.request.event.fail(error)
    return Stop(message, visit.client)


def different_user(visit: Visit, username: str) -> Stop:
    """Return the page of a sign-in in a browser in which another user is signed in."""
    visit.request.event.fail(EventError.DIFFERENT_USER_AUTHENTICATED)
    return Stop(MessageKey.DIFFERENT_USER, visit.client, (username,))


def closed_sign_in(visit: Visit) -> Stop | None:
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


def refused_sign_in(visit: Visit, error: SignInRefused) -> Stop:
    """Return the page of a sign-in that was refused; raises an error that is for the client."""
    note_refusal(visit.request.event, error)
    is_action = isinstance(error, AccountNotSetUp | ActionForbidden)
    if Prompt.NONE in visit.asked.prompt and is_action:
        raise visit.purpose.refusal("interaction_required", error.event_error)
    if isinstance(error, ActionForbidden):
        visit.request.event.withdraw()
        return Stop(error.shown, visit.client, status=HTTPStatus.FORBIDDEN)
    visit.request.event.fail(error.event_error)
    action = error.action if isinstance(error, AccountNotSetUp) else None
    return Stop(error.shown, visit.client, required_action=action)


def expired_sign_in(visit: Visit, session: AuthenticationSession) -> Expired:
    """Return the page of a form that belongs to another step."""
    visit.request.event.withdraw()
    return Expired(session, visit.asked)


def ended_sign_in(visit: Visit, step: Ended) -> Inform:
    """Return the page of a sign-in that has ended with the account."""
    visit.request.event.withdraw()
    return Inform(step.message, visit.client, locale=step.locale, signs_out=True)


async def note_account_changes(sessions: Sessions, visit: Visit, step: Step) -> None:
    """Note what the user has changed in the account, and end other sessions on request."""
    if isinstance(step, PageExpired):
        return
    noted, session = step.account_changes, step.session
    if not noted.changes:
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
    consents: Consents, visit: Visit, user: UserEntry
) -> tuple[ConsentItem, ...]:
    """Return what the user is asked for; nothing where no consent is required."""
    asked, client = visit.asked, visit.client
    if visit.purpose.is_always_confirmed:
        return requested_items(client, user, asked.scopes)
    again = Prompt.CONSENT in asked.prompt
    return await consents.missing(client, user, asked.scopes, ask_again=again)


def finished_sign_in(
    visit: Visit, step: SignedIn, user: UserEntry, consent: ConsentDetail
) -> FinishedSignIn:
    """Return what the response is made of."""
    return FinishedSignIn(
        user=user,
        joins=None if step.is_fresh else step.joins,
        current=visit.browser.user_session,
        level=step.level,
        remember_me=_is_remembered(visit, step),
        notes=step.session_notes,
        consent=consent,
        action=_action_parameters(visit, step),
    )


def with_new_session(
    visit: Visit,
    step: SignedIn,
    response: SignInResponse,
    session: UserSession,
) -> Respond:
    """Return the response with what the browser keeps of a new session."""
    remembered = step.user.username if _is_remembered(visit, step) else ""
    offered = visit.request.realm.realm.login.remember_me
    return Respond(
        response,
        session,
        browser_id=None if visit.is_new else step.session.id,
        remember=remembered if offered else None,
    )


def _is_remembered(visit: Visit, step: SignedIn) -> bool:
    """Tell whether the user wants it and the realm still offers it: else the session were over."""
    return step.session.remember_me and visit.request.realm.realm.login.remember_me


def _action_parameters(visit: Visit, step: SignedIn) -> dict[str, str]:
    """Return the result of the action that the client asked for. Keycloak: 12.10."""
    if visit.asked.action is None or step.action_status is None:
        return {}
    return {"kc_action": visit.asked.action, "kc_action_status": step.action_status}


async def completed_sign_in(
    visit: Visit, finished: FinishedSignIn
) -> tuple[SignInResponse, UserSession]:
    """Complete the sign-in; raises as `Purpose.complete` does.

    A user who has signed in with credentials gets a new session if that of the browser has ended.
    """
    try:
        return await visit.purpose.complete(visit.request, finished)
    except SessionEnded:
        if finished.joins is not None:
            raise
        return await visit.purpose.complete(visit.request, replace(finished, current=None))


def is_hinted(asked: SignInRequest, user_id: str) -> bool:
    """Tell whether the user is the one of `id_token_hint`, where the request has one."""
    hint = asked.hinted_user
    return hint is None or is_subject(hint, asked.client.client, user_id)


async def without_sign_in(
    purposes: Purposes, request: ProtocolRequest, browser: Browser, client_data: Mapping[str, str]
) -> AlreadySignedIn | Stop:
    """Answer a form of a sign-in of which the browser has kept nothing.

    Raises the error for the client to which a signed-in user is sent back, and PageError where
    `client_data` names no address of the client.
    """
    client_id = request.parameters.get("client_id")
    request.event.begin(EventType.LOGIN)
    if browser.identity is not None and client_id is not None and client_data:
        purpose = await purposes.sent_back(request, client_id, client_data)
        error, text = "temporarily_unavailable", "authentication_expired"
        raise purpose.refusal(error, EventError.EXPIRED_CODE, text)
    if browser.identity is not None:
        request.event.withdraw()
        return AlreadySignedIn()
    request.event.fail(EventError.COOKIE_NOT_FOUND)
    return Stop(MessageKey.COOKIE_NOT_FOUND)
