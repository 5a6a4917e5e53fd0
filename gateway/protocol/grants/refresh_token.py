"""refresh_token: new tokens for a session that lasts. Spec: RFC 6749 §6; Keycloak: 1.7."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.ports.directory import UserEntry
from gateway.domain.refresh_tokens import Rotation
from gateway.domain.sessions import UserSession
from gateway.protocol.certificate_binding import require_binding
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.client_scopes import OFFLINE_ACCESS, GrantedScopes, grant_scopes
from gateway.protocol.errors import OAuthError
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.issuing import (
    OFFLINE,
    REFRESH,
    Issue,
    SessionPart,
    TokenResponse,
    issue_tokens,
)
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.session_limits import session_ends_at
from gateway.protocol.sessions import is_part_over
from gateway.protocol.subjects import subject_of

GRANT_TYPE: Final = "refresh_token"
_LETTERS: Final = "rt"
_ROTATION_TEXTS: Final = {
    Rotation.REUSED: "Maximum allowed refresh token reuse exceeded",
    Rotation.STALE: "Stale token",
}


@dataclass(frozen=True, slots=True)
class PresentedToken:
    """A genuine refresh token. Spec: Keycloak 2.2."""

    claims: Mapping[str, Any]
    offline: bool

    @property
    def scopes(self) -> tuple[str, ...]:
        """Return the granted names."""
        return tuple(str(self.claims.get("scope", "")).split())


def read_refresh_token(request: ProtocolRequest, client: Client, token: str) -> PresentedToken:
    """Return the token when it is the caller's own and unexpired; raises OAuthError."""
    try:
        claims = request.realm.key_ring.verify_of_ourselves(token, request.now)
    except InvalidToken as error:
        raise _refused("Invalid refresh token", str(error)) from error
    if claims.get("typ") not in {REFRESH, OFFLINE}:
        raise _refused("Invalid refresh token")
    if "exp" in claims and claims["exp"] <= request.now.timestamp():
        raise _refused("Token is not active")
    if claims.get("iss") != request.issuer:
        raise _refused(f"Invalid token issuer. Expected '{request.issuer}'")
    if claims.get("azp") != client.client_id:
        raise _refused("Invalid refresh token. Token client and authorized client don't match")
    return PresentedToken(claims, offline=claims["typ"] == OFFLINE)


class RefreshToken:
    """Gives new tokens, and moves the idle timeouts of the session."""

    def __init__(self, services: GrantServices) -> None:
        """Look users up in the directory, sessions in their stores."""
        self._directory = services.directory
        self._database = services.database
        self._sessions = services.sessions
        self._guard = services.guard

    async def __call__(
        self, request: ProtocolRequest, caller: AuthenticatedClient
    ) -> TokenResponse:
        """Return new tokens of the kinds that the session has."""
        client = caller.entry.client
        text = request.parameters.get("refresh_token")
        if text is None:
            raise OAuthError("invalid_request", "No refresh token")
        token = read_refresh_token(request, client, text)
        _require_binding(request, token)
        session = await self._session(request, client, token)
        entry = await self._user(request, client, session, token)
        granted = _granted(request, client, token)
        family, refresh_id = await self._rotate(request, client, session, token)
        joined = await self._sessions.refresh(request.realm.realm, session, client, request.now)
        if joined is None:
            raise _refused(_no_session(token))
        part = SessionPart(joined.session, joined.client_session, refresh_id, family)
        return issue_tokens(request, Issue(subject_of(client, entry), granted, _LETTERS, part))

    async def _session(
        self, request: ProtocolRequest, client: Client, token: PresentedToken
    ) -> UserSession:
        realm = request.realm.realm
        session_id = str(token.claims.get("sid"))
        session = await self._sessions.find(
            realm, session_id, offline=token.offline, now=request.now
        )
        if session is None or session.user_id != token.claims.get("sub"):
            raise _refused(_no_session(token))
        if client.id not in session.clients:
            raise _refused("Session doesn't have required client")
        if is_part_over(realm, session, client, request.now):
            await self._sessions.leave(session, client)
            raise _refused("Client session not active")
        _require_younger(session, client, token)
        return session

    async def _user(
        self,
        request: ProtocolRequest,
        client: Client,
        session: UserSession,
        token: PresentedToken,
    ) -> UserEntry:
        realm = request.realm.realm
        entry = await self._directory.user(realm.id, session.user_id)
        if entry is None:
            raise _refused("Unknown user")
        if not entry.user.enabled or await self._guard.is_locked(
            realm.brute_force, realm.id, entry.user.id
        ):
            raise _refused("User disabled")
        not_before = max(realm.not_before, client.not_before, entry.user.not_before)
        if token.claims["iat"] < not_before:
            raise _refused("Stale token")
        if token.offline and OFFLINE_ACCESS not in entry.roles.realm:
            raise _refused("Offline session invalid because offline access not granted anymore")
        return entry

    async def _rotate(
        self,
        request: ProtocolRequest,
        client: Client,
        session: UserSession,
        token: PresentedToken,
    ) -> tuple[str | None, str]:
        """Return family and successor's id; a token used out of turn ends the client's part."""
        realm = request.realm.realm
        successor = str(uuid.uuid4())
        family = token.claims.get("reuse_id")
        if not realm.refresh_tokens.revoke_on_use or not isinstance(family, str):
            return None, successor
        async with self._database.write() as stores:
            rotation = await stores.refresh_tokens.rotate(
                realm.id,
                family,
                str(token.claims["jti"]),
                successor=successor,
                max_reuse=realm.refresh_tokens.max_reuse,
                expires_at=session_ends_at(realm.session_limits, session),
            )
        if rotation is not Rotation.ACCEPTED:
            await self._sessions.leave(session, client)
            raise _refused(_ROTATION_TEXTS[rotation])
        return family, successor


def _granted(request: ProtocolRequest, client: Client, token: PresentedToken) -> GrantedScopes:
    """Return the token's scopes, or the narrower ones that were asked for."""
    asked = request.parameters.get("scope")
    if asked is not None and not set(asked.split(" ")) <= set(token.scopes):
        raise OAuthError("invalid_scope", f"Invalid scopes: {asked}")
    still_given = {"openid", *client.default_client_scopes, *client.optional_client_scopes}
    names = [name for name in token.scopes if name in still_given]
    wanted = set(asked.split(" ")) | set(client.default_client_scopes) if asked else set(names)
    return grant_scopes(client, " ".join(name for name in names if name in wanted) or None)


def _require_binding(request: ProtocolRequest, token: PresentedToken) -> None:
    try:
        require_binding(token.claims, request.certificate)
    except OAuthError as error:
        raise OAuthError(
            "unauthorized_client", error.description, status=HTTPStatus.UNAUTHORIZED
        ) from error


def _require_younger(session: UserSession, client: Client, token: PresentedToken) -> None:
    issued_at = token.claims.get("iat")
    if not isinstance(issued_at, int):
        raise _refused("Invalid refresh token")
    if issued_at < int(session.started_at.timestamp()):
        raise _refused("Refresh token issued before the user session started")
    if issued_at < int(session.clients[client.id].started_at.timestamp()):
        raise _refused("refresh token issued before the client session started")


def _no_session(token: PresentedToken) -> str:
    return "Offline user session not found" if token.offline else "Session not active"


def _refused(description: str, reason: str | None = None) -> OAuthError:
    return OAuthError("invalid_grant", description, reason=reason)
