"""The end of a sign-in: the user that it is limited to, and the response for the client."""

from collections.abc import Mapping
from dataclasses import replace

from gateway.authentication.engine import PageExpired, SignedIn, Step
from gateway.domain.authentication import MessageKey
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.directory import UserEntry
from gateway.domain.sessions import UserSession
from gateway.protocol.authorization import Prompt
from gateway.protocol.browser_sign_in.browser import Browser
from gateway.protocol.browser_sign_in.outcomes import (
    AlreadySignedIn,
    Respond,
    SignInResponse,
    Stop,
)
from gateway.protocol.browser_sign_in.purposes import Purposes
from gateway.protocol.browser_sign_in.visit import Visit, note_changes
from gateway.protocol.claims.subject_identifiers import is_subject
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_results.consents import (
    ConsentDetail,
    ConsentItem,
    Consents,
    requested,
)
from gateway.protocol.sign_in_results.session_joining import FinishedSignIn, SessionEnded
from gateway.protocol.sign_in_results.sign_in_request import SignInRequest


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
        itself = ConsentItem(client.client_id, client.display.name)
        return requested(user, asked.scopes) or (itself,)
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


async def completed(visit: Visit, finished: FinishedSignIn) -> tuple[SignInResponse, UserSession]:
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
