"""Logout by a client that holds a refresh token: the session ends for all of its clients.

An expired token is accepted: it still names the session. The token of an online session leaves the
offline session that began in it; an offline token ends both.
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
from gateway.protocol.tokens import read_refresh_token


class LogoutEndpoint:
    """Ends sessions for clients of every realm."""

    def __init__(
        self, clients: ClientAuthenticator, sessions: Sessions, constraint: SenderConstraint
    ) -> None:
        self._clients = clients
        self._sessions = sessions
        self._constraint = constraint

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
        session_id, user_id = str(token.claims["sid"]), str(token.claims["sub"])
        request.event.session_id, request.event.user_id = session_id, user_id
        end = self._sessions.log_out if token.offline else self._sessions.log_out_online
        if not await end(request.realm.realm.id, session_id, request.now):
            request.event.withdraw()
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
