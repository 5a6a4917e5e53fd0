"""Outcomes of the steps of the engine: a page or an error of the client, and the event."""

from dataclasses import replace
from http import HTTPStatus
from typing import Final

from gateway.authentication.engine import Challenged, Ended
from gateway.authentication.errors import AccountNotSetUp, ActionForbidden, SignInRefused
from gateway.domain.authentication import AuthenticationSession, Challenge, MessageKey
from gateway.domain.events import EventError, EventType
from gateway.domain.flows import FlowUse
from gateway.protocol.authorization import Prompt
from gateway.protocol.browser_sign_in.outcomes import AskUser, Expired, Inform, Outcome, Stop
from gateway.protocol.browser_sign_in.visit import Visit, note_failure
from gateway.protocol.errors import OAuthError
from gateway.protocol.events import note_refusal

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


def challenged(visit: Visit, step: Challenged) -> AskUser:
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


def closed(visit: Visit) -> Stop | None:
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


def refused(visit: Visit, error: SignInRefused) -> Stop:
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


def expired(visit: Visit, session: AuthenticationSession) -> Expired:
    """Return the page of a form that belongs to another step."""
    visit.request.event.withdraw()
    return Expired(session, visit.asked)


def ended(visit: Visit, step: Ended) -> Inform:
    """Return the page of a sign-in that has ended with the account."""
    visit.request.event.withdraw()
    return Inform(step.message, visit.client, locale=step.locale, signs_out=True)
