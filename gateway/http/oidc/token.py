"""POST /realms/{realm}/protocol/openid-connect/token. Spec: RFC 6749 §3.2."""

from gateway.domain.ports.metrics import Metrics
from gateway.http.exchange import Exchange
from gateway.http.replies import Reply, json_reply
from gateway.protocol.errors import OAuthError
from gateway.protocol.grants import GRANTS
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.token_endpoint import TokenEndpoint


class TokenHandler:
    """Answers token requests, and counts them by grant and outcome."""

    def __init__(self, endpoint: TokenEndpoint, metrics: Metrics) -> None:
        self._endpoint = endpoint
        self._metrics = metrics

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        try:
            caller, tokens = await self._endpoint.answer(request)
        except OAuthError as error:
            self._count(request, error.error)
            raise
        self._count(request, "issued")
        exchange.log.client = caller.entry.client.client_id
        exchange.log.client_auth_method = caller.method
        exchange.log.token_id = tokens.token_id
        return json_reply(tokens.document())

    def _count(self, request: ProtocolRequest, outcome: str) -> None:
        grant_type = request.parameters.get("grant_type")
        known = grant_type if grant_type in GRANTS else "unknown"
        self._metrics.token_grant(request.realm.realm.name, known or "unknown", outcome)
