"""password: a user signs in through the client.

Spec: RFC 6749 §4.3; Keycloak: 1.5 password grant (26.7).
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from gateway.authentication.engine import Refused, SignedIn, SignInContext
from gateway.authentication.errors import (
    AccessDenied,
    AccountDisabled,
    AccountNotSetUp,
    CertificateRejected,
    InvalidUserCredentials,
    SessionLimitExceeded,
    SignInRefused,
)
from gateway.domain.authentication import AuthenticationSession, session_of_one_request
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.events import Detail, EventError
from gateway.domain.flows import CERTIFICATE, SignInFlow, needs_username
from gateway.domain.ports.lookups import UserEntry
from gateway.domain.users import User
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import EventFailure, OAuthError, refused
from gateway.protocol.events import note_refusal
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, grant_scopes
from gateway.protocol.session_tokens import ProtocolServices, issue_with_session
from gateway.protocol.tokens import TokenResponse

GRANT_TYPE: Final = "password"


async def sign_in_by_password(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient
) -> TokenResponse:
    """Sign a user in by user name and password, and begin a session."""
    client = caller.entry.client
    request.event.details[Detail.AUTH_METHOD] = "oauth_credentials"
    _require_allowed(client)
    granted = grant_scopes(request.realm, client, request.parameters.raw("scope"))
    request.event.details[Detail.AUTH_METHOD] = OPENID_CONNECT
    user = await _authenticate(services, request, client, granted, caller.of_realm)
    return await issue_with_session(
        services,
        request,
        caller.entry,
        await _find_entry(services, request, user),
        granted,
        grant="ro",
    )


async def _authenticate(
    services: ProtocolServices,
    request: ProtocolRequest,
    client: Client,
    granted: GrantedScopes,
    certificate: ClientCertificate | None,
) -> User:
    flow = request.realm.sign_in.direct_grant_flow(client.flow_overrides)
    if flow is None:  # a flow that has gone since the client was given it
        raise _refused(request, InvalidUserCredentials(EventError.NOT_ALLOWED))
    _note_certificate(request, flow, certificate)
    context = SignInContext(
        realm=request.realm,
        client=client,
        address=request.remote_address,
        now=request.now,
        scopes=frozenset(granted.names),
        certificate=certificate,
        form=_credentials(request, needs_name=needs_username(flow)),
    )
    session = session_of_one_request(
        realm_id=request.realm.realm.id, client=client.id, flow=flow.id, started_at=request.now
    )
    step = await services.sign_in_engine.begin(context, session, stored=False)
    _note_user(request, flow, step.session)
    if isinstance(step, SignedIn):
        return step.user
    if isinstance(step, Refused):
        raise _refused(request, step.error) from step.error
    raise _refused(request, AccountNotSetUp())  # no such flow may be bound: it asks for a page


async def _find_entry(
    services: ProtocolServices, request: ProtocolRequest, user: User
) -> UserEntry:
    entry = await services.directory.user(request.realm.realm.id, user.id)
    if entry is None:
        raise _refused(request, InvalidUserCredentials(EventError.USER_NOT_FOUND))
    return entry


def _note_certificate(
    request: ProtocolRequest, flow: SignInFlow, certificate: ClientCertificate | None
) -> None:
    """Note the certificate in the event where the flow asks for one."""
    if _asks_for_certificate(flow) and certificate is not None:
        request.event.details |= certificate.evidence.leaf.event_details


def _note_user(
    request: ProtocolRequest, flow: SignInFlow, session: AuthenticationSession | None
) -> None:
    """Note the user of the certificate, who may be another user than the form says."""
    name = None if session is None else session.attempted_username
    if name is not None and _asks_for_certificate(flow):
        request.event.details[Detail.USERNAME] = name


def _asks_for_certificate(flow: SignInFlow) -> bool:
    return any(step.authenticator == CERTIFICATE for step in flow.every_step())


def _credentials(request: ProtocolRequest, *, needs_name: bool) -> dict[str, str]:
    sent = request.parameters
    username = sent.raw("username")
    if username is None and needs_name:
        text, status = "Missing parameter: username", HTTPStatus.UNAUTHORIZED
        failure = EventFailure(EventError.USER_NOT_FOUND)
        raise OAuthError("invalid_request", text, status=status, event=failure)
    if username is not None:
        request.event.details[Detail.USERNAME] = username
    fields = {
        "username": username,
        "password": sent.get("password"),
        "otp": sent.get("otp") or sent.get("totp"),
    }
    return {name: text for name, text in fields.items() if text is not None}


def _require_allowed(client: Client) -> None:
    if not client.direct_access_grants_enabled:
        text = "Client not allowed for direct access grants"
        raise refused("unauthorized_client", text, EventError.NOT_ALLOWED)
    if client.consent_required:
        text = "Client requires user consent"
        raise refused("invalid_client", text, EventError.CONSENT_DENIED)


def _refused(request: ProtocolRequest, refusal: SignInRefused) -> OAuthError:
    note_refusal(request.event, refusal)
    answer = _answer_to(refusal)
    return OAuthError(
        answer.error,
        answer.text,
        status=answer.status,
        reason=refusal.event_error,
        event=EventFailure(refusal.event_error, answer.reason),
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """The client's text for a refusal, and the event's reason."""

    text: str
    reason: str | None = None
    error: str = "invalid_grant"
    status: HTTPStatus = HTTPStatus.BAD_REQUEST


def _answer_to(refusal: SignInRefused) -> _Answer:
    match refusal:
        case AccountDisabled():
            return _Answer("Account disabled")
        case AccountNotSetUp():
            return _Answer("Account is not fully set up", "Account is not fully set up")
        case AccessDenied():
            return _Answer(refusal.text, None, "access_denied", HTTPStatus.UNAUTHORIZED)
        case SessionLimitExceeded():
            error = EventError.GENERIC_AUTHENTICATION_ERROR
            return _Answer(refusal.text, None, error, HTTPStatus.FORBIDDEN)
        case CertificateRejected():
            return _Answer(refusal.text, refusal.text, "invalid_request", HTTPStatus.UNAUTHORIZED)
        case _:
            service = refusal.event_error == EventError.INVALID_USER
            reason = "User is a service account" if service else None
            return _Answer("Invalid user credentials", reason)
