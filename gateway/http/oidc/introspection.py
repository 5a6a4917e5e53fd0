"""POST /realms/{realm}/protocol/openid-connect/token/introspect. Spec: RFC 7662 §2.

JSON, or a JWT for a caller that asks for it (RFC 9701 §4).
"""

from gateway.http.exchange import Exchange
from gateway.http.replies import Reply, json_reply, jwt_reply
from gateway.protocol.introspection import IntrospectionEndpoint
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.tokens import sign_introspection, with_access_token_claims_as_jwt


class IntrospectionHandler:
    """Answers introspection requests."""

    def __init__(self, endpoint: IntrospectionEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        """Return what the token means to the caller."""
        caller, answer = await self._endpoint.answer(request)
        exchange.log["client"] = caller.entry.client.client_id
        if answer["active"]:
            exchange.log["token_id"] = str(answer["jti"])
        client, accept = caller.entry.client, exchange.facts.headers.text(b"accept") or ""
        signed = sign_introspection(request, client, accept, answer)
        if signed is not None:
            return jwt_reply(signed, "application/token-introspection+jwt")
        return json_reply(with_access_token_claims_as_jwt(request, client, accept, answer))
