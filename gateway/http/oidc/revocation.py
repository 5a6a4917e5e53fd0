"""POST /realms/{realm}/protocol/openid-connect/revoke. Spec: RFC 7009 §2."""

from http import HTTPStatus

from gateway.http import security_headers
from gateway.http.exchange import Exchange
from gateway.http.replies import Reply, oauth_error
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.revocation import RevocationEndpoint


class RevocationHandler:
    """Answers revocation requests."""

    def __init__(self, endpoint: RevocationEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        """Return 200 with an empty body, or with the reason why there was nothing to revoke."""
        caller, refusal = await self._endpoint.answer(request)
        exchange.log["client"] = caller.entry.client.client_id
        if refusal is not None:
            exchange.log["reason"] = str(refusal.reason)
            return oauth_error(refusal.error, refusal.description, status=HTTPStatus.OK)
        return Reply(
            HTTPStatus.OK,
            security_headers.only_on_pages(request.realm.realm.security_headers),
        )
