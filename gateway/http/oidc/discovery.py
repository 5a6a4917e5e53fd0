"""GET: metadata, keys and public document of a realm.

Spec: OpenID Connect Discovery §4, RFC 7517 §5, RFC 9110 §13.1.2 (If-None-Match)
"""

import hashlib
from http import HTTPStatus
from typing import Final

from gateway.http.exchange import Exchange
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import JSON_UTF8, Headers, Reply, json_reply
from gateway.protocol.discovery import key_set, openid_configuration, realm_information
from gateway.protocol.requests import ProtocolRequest

_NEVER_CACHED: Final[Headers] = (
    (b"cache-control", b"no-cache, must-revalidate, no-transform, no-store"),
)
_KEYS_CACHED: Final = (b"cache-control", b"public, max-age=60")
"""Shorter than the time for which a new key is published before it signs."""


async def get_openid_configuration(
    context: RealmContext,
    request: ProtocolRequest,
    exchange: Exchange,  # noqa: ARG001
) -> Reply:
    """Return the metadata of a realm."""
    mtls_issuer = context.mtls_issuer(request.realm.realm.name)
    document = openid_configuration(request.realm, request.issuer, mtls_issuer)
    return json_reply(document, headers=_NEVER_CACHED)


async def get_keys(request: ProtocolRequest, exchange: Exchange) -> Reply:
    """Return the JWKS, or 304 to a caller that has it."""
    reply = json_reply(key_set(request.realm, request.now))
    tag = b'"' + hashlib.sha256(reply.body).hexdigest()[:32].encode() + b'"'
    # Caches are shared by pages of several origins, and each is told its own.
    headers: Headers = (_KEYS_CACHED, (b"vary", b"origin"), (b"etag", tag))
    if tag in exchange.facts.headers.values.get(b"if-none-match", b""):
        return Reply(HTTPStatus.NOT_MODIFIED, headers)
    return Reply(reply.status, (*reply.headers, *headers), reply.body)


async def get_realm_information(request: ProtocolRequest, exchange: Exchange) -> Reply:  # noqa: ARG001
    """Return the realm's public document."""
    return json_reply(
        realm_information(request.realm, request.issuer, request.now), content_type=JSON_UTF8
    )
