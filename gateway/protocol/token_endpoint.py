"""The token endpoint: the checks that every grant shares, in Keycloak's order.

grant_type -> client authentication -> repeated parameters -> DPoP proof -> the grant itself. A
grant that Keycloak has and the gateway does not support passes the same checks before it is
refused.
Spec: RFC 6749 §3.2, RFC 9449 §5; Keycloak: 1.1
"""

from collections.abc import Mapping

from gateway.domain.events import Detail
from gateway.protocol.client_authentication import AuthenticatedClient, ClientAuthenticator
from gateway.protocol.errors import OAuthError, duplicated_parameter
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.grants import GRANTS, Grant
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.tokens import TokenResponse
from gateway.protocol.unsupported_grants import UNSUPPORTED_GRANTS, unsupported_grant


class TokenEndpoint:
    """Answers token requests of every realm."""

    def __init__(self, services: GrantServices, clients: ClientAuthenticator) -> None:
        self._clients = clients
        self._constraint = services.constraint
        self._grants: Mapping[str, Grant] = {
            **UNSUPPORTED_GRANTS,
            **{name: make(services) for name, make in GRANTS.items()},
        }

    async def answer(self, request: ProtocolRequest) -> tuple[AuthenticatedClient, TokenResponse]:
        """Return who asked and the tokens; raises OAuthError or StoreUnavailable."""
        try:
            grant = self._grant(request)
        except OAuthError:
            request.page.withhold()
            raise
        caller = await self._clients.authenticate(request)
        if request.parameters.repeated:
            raise duplicated_parameter()
        request = await self._constraint.with_proved_key(request, caller.entry.client)
        tokens = await grant(request, caller)
        request.event.details[Detail.TOKEN_ID] = tokens.token_id
        request.event.details[Detail.SCOPE] = tokens.scope
        return caller, tokens

    def _grant(self, request: ProtocolRequest) -> Grant:
        grant_type = request.parameters.raw("grant_type")
        if grant_type is None:
            raise OAuthError("invalid_request", "Missing form parameter: grant_type")
        grant = self._grants.get(grant_type)
        if grant is None:
            raise unsupported_grant()
        request.event.begin(grant.event)
        request.event.details[Detail.GRANT_TYPE] = grant_type
        return grant
