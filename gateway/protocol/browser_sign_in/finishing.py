"""The end of a sign-in: whose it may be, and what the client gets."""

from dataclasses import replace

from gateway.authentication.engine import SignedIn
from gateway.domain.sessions import UserSession
from gateway.protocol.browser_sign_in.outcomes import SignInResponse
from gateway.protocol.browser_sign_in.visit import Visit
from gateway.protocol.claims.subject_identifiers import is_subject
from gateway.protocol.sign_in_results.session_joining import FinishedSignIn, SessionEnded
from gateway.protocol.sign_in_results.sign_in_request import SignInRequest


def action_parameters(visit: Visit, step: SignedIn) -> dict[str, str]:
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
