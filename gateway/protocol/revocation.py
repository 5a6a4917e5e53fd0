"""Token revocation: a client ends its own token before its time.

Spec: RFC 7009 §2; Keycloak: 12.5
"""

from datetime import UTC, datetime

from gateway.domain.errors import InvalidToken
from gateway.domain.ports.directory import Directory
from gateway.domain.ports.storage import Database
from gateway.protocol.access_tokens import AccessTokens
from gateway.protocol.certificate_binding import require_binding
from gateway.protocol.client_authentication import AuthenticatedClient, authenticate_client
from gateway.protocol.errors import OAuthError, duplicated_parameter
from gateway.protocol.realm_checks import require_open_realm
from gateway.protocol.requests import ProtocolRequest


class RevocationEndpoint:
    """Answers revocation requests of every realm."""

    def __init__(
        self, directory: Directory, access_tokens: AccessTokens, database: Database
    ) -> None:
        """Look clients up in `directory`, keep revocations in `database`."""
        self._directory = directory
        self._access_tokens = access_tokens
        self._database = database

    async def answer(
        self, request: ProtocolRequest
    ) -> tuple[AuthenticatedClient, OAuthError | None]:
        """Revoke durably before returning.

        A token that is not ours to revoke is reported with status 200, as an error that the
        caller need not act on. Raises OAuthError or StoreUnavailable.
        """
        require_open_realm(request)
        caller = await authenticate_client(request, self._directory)
        if request.parameters.repeated:
            raise duplicated_parameter()
        token = request.parameters.raw("token")
        if token is None:
            raise OAuthError("invalid_request", "Token not provided")
        try:
            claims = self._access_tokens.genuine(request, token)
        except InvalidToken as error:
            return caller, OAuthError("invalid_token", "Invalid token", reason=str(error))
        if claims.get("azp") != caller.entry.client.client_id:
            raise OAuthError("invalid_request", "Unmatching clients")
        require_binding(claims, request.certificate)
        async with self._database.write() as stores:
            await stores.revocations.revoke(
                request.realm.realm.id,
                str(claims["jti"]),
                datetime.fromtimestamp(float(claims["exp"]), UTC),
            )
        return caller, None
