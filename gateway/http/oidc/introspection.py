"""POST /realms/{realm}/protocol/openid-connect/token/introspect. Spec: RFC 7662 §2."""

from gateway.http.exchange import Exchange
from gateway.http.replies import Reply, json_reply
from gateway.protocol.introspection import IntrospectionEndpoint
from gateway.protocol.requests import ProtocolRequest


class IntrospectionHandler:
    """Answers introspection requests."""

    def __init__(self, endpoint: IntrospectionEndpoint) -> None:
        """Decide by `endpoint`."""
        self._endpoint = endpoint

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        """Return what the token means to the caller."""
        caller, answer = await self._endpoint.answer(request)
        exchange.log["client"] = caller.entry.client.client_id
        if answer["active"]:
            exchange.log["token_id"] = str(answer["jti"])
        return json_reply(answer)
