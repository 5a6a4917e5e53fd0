"""Token introspection: what a token means, told only to those it concerns.

A caller learns of a token whose audience names it. The client a bound token was issued to must
also come with the certificate it is bound to; a resource server in the audience is handed `cnf`
and compares it with the certificate that its own caller shows.
Spec: RFC 7662 §2, RFC 8705 §3.2; Keycloak: 12.4 (26.7)
"""

from typing import Any, Final

from gateway.domain.errors import InvalidToken
from gateway.domain.ports.directory import Directory
from gateway.protocol.access_tokens import AccessTokens
from gateway.protocol.certificate_binding import require_binding
from gateway.protocol.claims.audiences import audiences_of
from gateway.protocol.client_authentication import (
    AuthenticatedClient,
    authenticate_confidential_client,
)
from gateway.protocol.errors import ClientAuthenticationFailed, OAuthError, duplicated_parameter
from gateway.protocol.realm_checks import require_open_realm
from gateway.protocol.requests import ProtocolRequest

INACTIVE: Final[dict[str, Any]] = {"active": False}
_NOT_SHOWN: Final = frozenset({"clientHost", "clientAddress"})
"""Notes of a transient session: they end with it."""
_REFRESH_TOKEN: Final = "refresh_token"  # noqa: S105 - a kind of token, not one
_HINTS: Final = (None, "access_token", _REFRESH_TOKEN)


class IntrospectionEndpoint:
    """Answers introspection requests of every realm."""

    def __init__(self, directory: Directory, access_tokens: AccessTokens) -> None:
        """Look clients up in `directory`, judge tokens by `access_tokens`."""
        self._directory = directory
        self._access_tokens = access_tokens

    async def answer(self, request: ProtocolRequest) -> tuple[AuthenticatedClient, dict[str, Any]]:
        """Return who asked and the answer; raises OAuthError or StoreUnavailable."""
        require_open_realm(request)
        caller = await self._authenticate(request)
        if request.parameters.repeated:
            raise duplicated_parameter()
        token = request.parameters.raw("token")
        if token is None:
            raise OAuthError("invalid_request", "Token not provided.")
        hint = request.parameters.raw("token_type_hint")
        if hint not in _HINTS:
            raise OAuthError("invalid_request", "Unsupported token type.")
        if hint == _REFRESH_TOKEN:
            return caller, INACTIVE
        return caller, await self._describe(request, caller, token)

    async def _authenticate(self, request: ProtocolRequest) -> AuthenticatedClient:
        """Tell a wrong secret in the words of this endpoint."""
        try:
            return await authenticate_confidential_client(request, self._directory)
        except ClientAuthenticationFailed as failure:
            if failure.error == "unauthorized_client":
                raise ClientAuthenticationFailed(
                    "invalid_client", "Client authentication failed.", reason=str(failure.reason)
                ) from failure
            raise

    async def _describe(
        self, request: ProtocolRequest, caller: AuthenticatedClient, token: str
    ) -> dict[str, Any]:
        try:
            active = await self._access_tokens.active(request, token)
        except InvalidToken:
            return INACTIVE
        caller_id = caller.entry.client.client_id
        if caller_id not in audiences_of(dict(active.claims)):
            return INACTIVE
        if caller_id == active.claims.get("azp"):
            require_binding(active.claims, request.certificate)
        shown = {name: active.claims[name] for name in active.claims if name not in _NOT_SHOWN}
        return {
            **shown,
            "client_id": active.client.client.client_id,
            "username": active.user.user.username,
            "token_type": "Bearer",
            "active": True,
        }
