"""GET, POST /realms/{realm}/protocol/openid-connect/userinfo. Spec: OpenID Connect Core §5.3.

JSON, or a JWT where the client chose an algorithm (§5.3.2).
"""

from gateway.http.exchange import Exchange
from gateway.http.replies import Reply, json_reply, jwt_reply
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.tokens import sign_userinfo
from gateway.protocol.userinfo import UserinfoEndpoint


class UserinfoHandler:
    """Answers userinfo requests."""

    def __init__(self, endpoint: UserinfoEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        """Return the claims of the user."""
        active, claims = await self._endpoint.answer(request)
        exchange.log["client"] = active.client.client.client_id
        exchange.log["token_id"] = str(active.claims["jti"])
        signed = sign_userinfo(request, active, claims)
        return json_reply(claims) if signed is None else jwt_reply(signed, "application/jwt")
