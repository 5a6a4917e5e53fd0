"""GET, POST /realms/{realm}/protocol/openid-connect/userinfo. Spec: OpenID Connect Core §5.3."""

from gateway.http.exchange import Exchange
from gateway.http.replies import Reply, json_reply
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.userinfo import UserinfoEndpoint


class UserinfoHandler:
    """Answers userinfo requests."""

    def __init__(self, endpoint: UserinfoEndpoint) -> None:
        """Decide by `endpoint`."""
        self._endpoint = endpoint

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        """Return the claims of the user."""
        active, claims = await self._endpoint.answer(request)
        exchange.log["client"] = active.client.client.client_id
        exchange.log["token_id"] = str(active.claims["jti"])
        return json_reply(claims)
