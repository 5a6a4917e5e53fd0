"""What answers token/introspect, revoke, userinfo, ext/par/request and auth/device.

They stand below protocol/openid-connect.

Spec: RFC 7662 §2 and RFC 9701 §4 (introspection, as a JWT where the caller asks for it);
RFC 7009 §2; OpenID Connect Core §5.3 and §5.3.2 (userinfo, as a JWT where the client chose an
algorithm to sign or to encrypt).
"""

from datetime import timedelta
from http import HTTPStatus

from gateway.http.exchange import Exchange
from gateway.http.middleware.security_headers import only_on_pages
from gateway.http.replies import Reply, json_reply, jwt_reply, oauth_error
from gateway.protocol.authorization import PushedRequestEndpoint
from gateway.protocol.device_authorization import DeviceAuthorizationEndpoint
from gateway.protocol.introspection import IntrospectionEndpoint
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.revocation import RevocationEndpoint
from gateway.protocol.tokens import (
    sign_introspection,
    with_access_token_claims_as_jwt,
)
from gateway.protocol.userinfo import UserinfoEndpoint


async def introspect(
    endpoint: IntrospectionEndpoint, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return the state and the claims of a token."""
    caller, answer = await endpoint.answer(request)
    exchange.log.client = caller.entry.client.client_id
    if answer["active"]:
        exchange.log.token_id = str(answer["jti"])
    client, accept = caller.entry.client, exchange.facts.headers.text(b"accept") or ""
    signed = sign_introspection(request, client, accept, answer)
    if signed is not None:
        return jwt_reply(signed, "application/token-introspection+jwt")
    return json_reply(with_access_token_claims_as_jwt(request, client, accept, answer))


async def revoke(
    endpoint: RevocationEndpoint, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return 200 with an empty body, or with the reason why nothing was revoked."""
    caller, refusal = await endpoint.answer(request)
    exchange.log.client = caller.entry.client.client_id
    if refusal is not None:
        exchange.log.reason = str(refusal.reason)
        return oauth_error(refusal.error, refusal.description, status=HTTPStatus.OK)
    return Reply(HTTPStatus.OK, only_on_pages(request.realm.realm.security_headers))


async def userinfo(
    endpoint: UserinfoEndpoint, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return the claims of the user of an access token, in JSON or as a JWT."""
    active, answer = await endpoint.answer(request)
    exchange.log.client = active.client.client.client_id
    exchange.log.token_id = str(active.claims["jti"])
    return jwt_reply(answer, "application/jwt") if isinstance(answer, str) else json_reply(answer)


async def push_request(
    endpoint: PushedRequestEndpoint, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return 201 and the reference of the request. Spec: RFC 9126 §2.2."""
    caller, pushed = await endpoint.answer(request)
    exchange.log.client = caller.entry.client.client_id
    seconds = pushed.lifespan // timedelta(seconds=1)
    document = {"request_uri": pushed.request_uri, "expires_in": seconds}
    return json_reply(document, status=HTTPStatus.CREATED)


async def authorize_device(
    endpoint: DeviceAuthorizationEndpoint, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return the codes of a device. Spec: RFC 8628 §3.2."""
    caller, codes = await endpoint.answer(request)
    exchange.log.client = caller.entry.client.client_id
    return json_reply(codes.document())
