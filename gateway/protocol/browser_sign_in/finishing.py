"""The end of a sign-in: whose it may be, and what the client gets."""

from dataclasses import replace

from gateway.authentication.engine import PageExpired, SignedIn, Step
from gateway.domain.sessions import UserSession
from gateway.protocol.browser_sign_in.visit import Visit, note_changes
from gateway.protocol.claims.subject_identifiers import is_subject
from gateway.protocol.device_authorization import DeviceResult
from gateway.protocol.response_modes import AuthorizationResponse
from gateway.protocol.sessions import Sessions
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


def action_parameters(visit: Visit, step: SignedIn) -> dict[str, str]:
    """Return the result of the action that the client asked for. Keycloak: 12.10."""
    if visit.asked.action is None or step.action_status is None:
        return {}
    return {"kc_action": visit.asked.action, "kc_action_status": step.action_status}


async def completed(
    visit: Visit, finished: FinishedSignIn
) -> tuple[AuthorizationResponse | DeviceResult, UserSession]:
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
