"""POST /realms/{realm}/protocol/openid-connect/logout with a refresh token. Keycloak: 12.6."""

from http import HTTPStatus

from gateway.http import security_headers
from gateway.http.exchange import Exchange
from gateway.http.replies import Reply
from gateway.protocol.logout import LogoutEndpoint
from gateway.protocol.requests import ProtocolRequest


class LogoutHandler:
    """Answers logout requests of clients."""

    def __init__(self, endpoint: LogoutEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        """Return 204 once the session has ended."""
        caller = await self._endpoint.answer(request)
        exchange.log["client"] = caller.entry.client.client_id
        return Reply(
            HTTPStatus.NO_CONTENT,
            security_headers.only_on_pages(request.realm.realm.security_headers),
        )
