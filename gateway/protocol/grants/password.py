"""password: a user signs in through the client. Spec: RFC 6749 §4.3; Keycloak: 1.5 (26.7)."""

from dataclasses import dataclass
from datetime import UTC
from http import HTTPStatus
from typing import Final

from gateway.authentication.errors import (
    AccessDenied,
    AccountDisabled,
    AccountNotSetUp,
    CertificateRejected,
    InvalidUserCredentials,
    Lockout,
    SessionLimitExceeded,
    SignInRefused,
)
from gateway.authentication.password import Caller, SubmittedCredentials
from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.ports.directory import UserEntry
from gateway.domain.secrets import Secret
from gateway.domain.users import User
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import EventFailure, OAuthError, refused
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, grant_scopes
from gateway.protocol.session_tokens import SessionTokens
from gateway.protocol.tokens import TokenResponse

GRANT_TYPE: Final = "password"
_GRANT_SHORTCUT: Final = "ro"


class Password:
    """Signs a user in by user name and password, and begins a session."""

    event = EventType.LOGIN

    def __init__(self, services: GrantServices) -> None:
        self._directory = services.directory
        self._login = services.password_login
        self._tokens = SessionTokens(services.sessions, services.database)

    async def __call__(
        self, request: ProtocolRequest, caller: AuthenticatedClient
    ) -> TokenResponse:
        client = caller.entry.client
        request.event.details[Detail.AUTH_METHOD] = "oauth_credentials"
        _require_allowed(client)
        granted = grant_scopes(request.realm, client, request.parameters.raw("scope"))
        request.event.details[Detail.AUTH_METHOD] = OPENID_CONNECT
        user = await self._authenticate(request, client, granted)
        entry = await self._entry(request, user)
        return await self._tokens.issue(
            request, caller.entry, entry, granted, grant=_GRANT_SHORTCUT
        )

    async def _authenticate(
        self, request: ProtocolRequest, client: Client, granted: GrantedScopes
    ) -> User:
        demands = request.realm.sign_in.demands(client.flow_overrides)
        if demands is None:  # a flow that has gone since the client was given it
            raise _refused(request, InvalidUserCredentials(EventError.NOT_ALLOWED))
        given = _credentials(request, needs_name=demands.flow.certificate is None)
        caller = Caller(
            *(client, request.remote_address, frozenset(granted.names), request.certificate)
        )
        try:
            return await self._login.authenticate(
                request.realm.realm,
                given,
                caller,
                now=request.now,
                demands=demands,
            )
        except SignInRefused as refusal:
            raise _refused(request, refusal) from refusal

    async def _entry(self, request: ProtocolRequest, user: User) -> UserEntry:
        entry = await self._directory.user(request.realm.realm.id, user.id)
        if entry is None:
            raise _refused(request, InvalidUserCredentials(EventError.USER_NOT_FOUND))
        return entry


def _credentials(request: ProtocolRequest, *, needs_name: bool) -> SubmittedCredentials:
    sent = request.parameters
    username = sent.raw("username")
    if username is None and needs_name:
        text, status = "Missing parameter: username", HTTPStatus.UNAUTHORIZED
        failure = EventFailure(EventError.USER_NOT_FOUND)
        raise OAuthError("invalid_request", text, status=status, event=failure)
    if username is not None:
        request.event.details[Detail.USERNAME] = username
    password, code = sent.get("password"), sent.get("otp") or sent.get("totp")
    return SubmittedCredentials(
        username,
        None if password is None else Secret(password),
        None if code is None else Secret(code),
    )


def _require_allowed(client: Client) -> None:
    if not client.direct_access_grants_enabled:
        text = "Client not allowed for direct access grants"
        raise refused("unauthorized_client", text, EventError.NOT_ALLOWED)
    if client.consent_required:
        text = "Client requires user consent"
        raise refused("invalid_client", text, EventError.CONSENT_DENIED)


def _refused(request: ProtocolRequest, refusal: SignInRefused) -> OAuthError:
    """Return what the client reads of it; the event tells more."""
    request.event.user_id = refusal.user_id
    if refusal.lockout is not None:
        request.event.beside.append(_locked_out(refusal.lockout))
    answer = _answer_to(refusal)
    failure = EventFailure(refusal.event_error, answer.reason)
    return OAuthError(
        answer.error,
        answer.text,
        status=answer.status,
        reason=refusal.event_error,
        event=failure,
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the client reads of a refusal, and what the event gives as the reason."""

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
            return _Answer(refusal.text, None, "invalid_request", HTTPStatus.UNAUTHORIZED)
        case _:
            service = refusal.event_error == EventError.INVALID_USER
            reason = "User is a service account" if service else None
            return _Answer("Invalid user credentials", reason)


def _locked_out(lockout: Lockout) -> tuple[EventType, dict[str, str]]:
    details = {
        Detail.REASON: "brute_force_attack detected",
        Detail.NUM_FAILURES: str(lockout.failures),
    }
    if lockout.until is None:
        return EventType.USER_DISABLED_BY_PERMANENT_LOCKOUT, details
    until = lockout.until.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    return EventType.USER_DISABLED_BY_TEMPORARY_LOCKOUT, {**details, Detail.NOT_BEFORE: until}
