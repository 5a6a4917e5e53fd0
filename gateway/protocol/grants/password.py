"""password: a user signs in through the client. Spec: RFC 6749 §4.3; Keycloak: 1.5 (26.7)."""

import uuid
from http import HTTPStatus
from typing import Final

from gateway.authentication.errors import AccountDisabled, AccountNotSetUp, SignInRefused
from gateway.authentication.password import GivenCredentials
from gateway.domain.clients import Client
from gateway.domain.ports.directory import UserEntry
from gateway.domain.secrets import Secret
from gateway.domain.users import User
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.client_scopes import OFFLINE_ACCESS, GrantedScopes, grant_scopes
from gateway.protocol.disclosure import disclose
from gateway.protocol.errors import OAuthError
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.issuing import Issue, SessionPart, TokenResponse, issue_tokens
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.session_limits import client_session_ends_at
from gateway.protocol.sessions import Joined

GRANT_TYPE: Final = "password"
_LETTERS: Final = "ro"


class Password:
    """Signs a user in by user name and password, and begins a session."""

    def __init__(self, services: GrantServices) -> None:
        """Check passwords by the one sign-in."""
        self._directory = services.directory
        self._database = services.database
        self._sessions = services.sessions
        self._login = services.password_login

    async def __call__(
        self, request: ProtocolRequest, caller: AuthenticatedClient
    ) -> TokenResponse:
        """Return access and refresh token, and an ID token where `openid` was asked for."""
        client = caller.entry.client
        _require_allowed(client)
        username = request.parameters.get("username")
        if username is None:
            raise OAuthError(
                "invalid_request", "Missing parameter: username", status=HTTPStatus.UNAUTHORIZED
            )
        granted = grant_scopes(request.realm, client, request.parameters.raw("scope"))
        user = await self._authenticate(request, _given(request, username))
        entry = await self._entry(request, user)
        if granted.offline:
            require_offline_role(entry)
        joined = await self._begin(request, client, user, granted)
        part = SessionPart(
            joined.session,
            joined.client_session,
            refresh_id=str(uuid.uuid4()),
            family=str(uuid.uuid4()) if _rotates(request) else None,
        )
        disclosure = disclose(caller.entry, entry, granted, session=joined.session)
        tokens = issue_tokens(request, Issue(disclosure, _LETTERS, part))
        await self._begin_family(request, client, part)
        return tokens

    async def _authenticate(self, request: ProtocolRequest, given: GivenCredentials) -> User:
        try:
            return await self._login.authenticate(
                request.realm.realm,
                given,
                address=request.remote_address,
                now=request.now,
            )
        except SignInRefused as refusal:
            raise OAuthError(
                "invalid_grant", _public_text(refusal), reason=refusal.event_error
            ) from refusal

    async def _entry(self, request: ProtocolRequest, user: User) -> UserEntry:
        entry = await self._directory.user(request.realm.realm.id, user.id)
        if entry is None:
            raise OAuthError("invalid_grant", "Invalid user credentials", reason="user_not_found")
        return entry

    async def _begin(
        self, request: ProtocolRequest, client: Client, user: User, granted: GrantedScopes
    ) -> Joined:
        return await self._sessions.begin(
            request.realm.realm,
            user,
            client,
            address=request.remote_address,
            scope=" ".join(granted.names),
            offline=granted.offline,
            now=request.now,
        )

    async def _begin_family(
        self, request: ProtocolRequest, client: Client, part: SessionPart
    ) -> None:
        if part.family is None:
            return
        realm = request.realm.realm
        end = client_session_ends_at(
            realm.session_limits, part.session, client, part.client_session
        )
        async with self._database.write() as stores:
            await stores.refresh_tokens.begin(
                realm.id,
                part.family,
                session_id=part.session.id,
                token_id=part.refresh_id,
                expires_at=end,
            )


def require_offline_role(entry: UserEntry) -> None:
    """Refuse an offline session to a user who has lost the realm's role for it."""
    if OFFLINE_ACCESS not in entry.roles.realm:
        raise OAuthError("not_allowed", "Offline tokens not allowed for the user or client")


def _given(request: ProtocolRequest, username: str) -> GivenCredentials:
    sent = request.parameters
    password, code = sent.get("password"), sent.get("otp") or sent.get("totp")
    return GivenCredentials(
        username,
        None if password is None else Secret(password),
        None if code is None else Secret(code),
    )


def _rotates(request: ProtocolRequest) -> bool:
    return request.realm.realm.refresh_tokens.revoke_on_use


def _require_allowed(client: Client) -> None:
    if not client.direct_access_grants_enabled:
        raise OAuthError("unauthorized_client", "Client not allowed for direct access grants")
    if client.consent_required:
        raise OAuthError("invalid_client", "Client requires user consent")


def _public_text(refusal: SignInRefused) -> str:
    match refusal:
        case AccountDisabled():
            return "Account disabled"
        case AccountNotSetUp():
            return "Account is not fully set up"
        case _:
            return "Invalid user credentials"
