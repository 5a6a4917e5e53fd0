"""Logout by a client that holds a refresh token: the session ends for all of its clients.

An offline token ends the offline session and the online one with its id; another token leaves the
offline session. An expired token is accepted: it still names the session. A revoked token, and one
whose client has left the session, is refused, unlike in Keycloak.
Keycloak: 12.6 (POST with refresh_token)
"""

from collections.abc import Mapping
from typing import Any

from gateway.client_policies import EventKind
from gateway.domain.clients import Client
from gateway.domain.events import EventType
from gateway.protocol.client_authentication import AuthenticatedClient, ClientAuthenticator
from gateway.protocol.errors import OAuthError, ProofRefused, duplicated_parameter
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sender_constraint import SenderConstraint
from gateway.protocol.sessions import Sessions
from gateway.protocol.tokens import RefreshTokens, read_refresh_token


class LogoutEndpoint:
    """Ends sessions for clients of every realm."""

    def __init__(
        self,
        clients: ClientAuthenticator,
        sessions: Sessions,
        constraint: SenderConstraint,
        refresh_tokens: RefreshTokens,
    ) -> None:
        self._clients = clients
        self._sessions = sessions
        self._constraint = constraint
        self._refresh_tokens = refresh_tokens

    async def answer(self, request: ProtocolRequest) -> AuthenticatedClient:
        """End the session of the token, again without complaint; raises OAuthError."""
        request.event.begin(EventType.LOGOUT)
        caller = await self._clients.authenticate(request)
        if request.parameters.repeated:
            raise duplicated_parameter()
        text = request.parameters.raw("refresh_token")
        if text is None:
            raise OAuthError("invalid_request", "No refresh token")
        client = caller.entry.client
        token = read_refresh_token(request, client, text, may_be_expired=True)
        await self._require_binding(request, client, token.claims)
        check_caller(request, caller, EventKind.LOGOUT_REQUEST, presented=token.claims)
        request.event.session_id = str(token.claims["sid"])
        request.event.user_id = str(token.claims["sub"])
        session = await self._refresh_tokens.session_to_end(request, caller.entry, token)
        if session is None:
            request.event.withdraw()
        elif token.offline:
            await self._sessions.log_out(request.realm.realm.id, session.id, request.now)
        else:
            await self._sessions.log_out_of_browser(session, request.now)
        return caller

    async def _require_binding(
        self, request: ProtocolRequest, client: Client, claims: Mapping[str, Any]
    ) -> None:
        try:
            await self._constraint.require_of_parameter(request, client, claims)
        except ProofRefused:
            raise
        except OAuthError as error:
            # Keycloak's code, as for a refresh.
            code, status = "unauthorized_client", error.status
            raise OAuthError(code, error.description, status=status, event=error.event) from error
