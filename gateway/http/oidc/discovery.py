"""GET: metadata, keys and public document of a realm, each rendered once.

They stay the same until the realm changes, or one of its keys begins to sign or retires.

Spec: OpenID Connect Discovery §4, RFC 7517 §5, RFC 9110 §13.1.2 (If-None-Match)
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final
from weakref import WeakKeyDictionary

from gateway.domain.ports.directory import RealmEntry
from gateway.http.exchange import Exchange
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import JSON, JSON_UTF8, Headers, Reply, json_reply
from gateway.protocol.discovery import key_set, openid_configuration, realm_information
from gateway.protocol.requests import ProtocolRequest

_NEVER_CACHED: Final[Headers] = (
    (b"cache-control", b"no-cache, must-revalidate, no-transform, no-store"),
)
_TAG: Final = b"etag"
_FOR_EACH_ORIGIN: Final = (b"vary", b"origin")
"""Caches are shared by pages of several origins, and each gets an answer of its own."""
_KEYS_CACHED: Final = (b"cache-control", b"public, max-age=60")
"""Shorter than the time for which a new key is published before it signs."""


@dataclass(frozen=True, slots=True)
class _Rendered:
    reply: Reply
    begin: datetime
    end: datetime


_RENDERED: Final[WeakKeyDictionary[RealmEntry, dict[str, _Rendered]]] = WeakKeyDictionary()
"""The documents of each realm, by the name of the document, for as long as its entry is in use."""


async def get_openid_configuration(
    context: RealmContext,
    request: ProtocolRequest,
    exchange: Exchange,  # noqa: ARG001
) -> Reply:
    """Return the metadata of a realm."""
    return _rendered("configuration", request, lambda: _configuration(context, request))


async def get_keys(request: ProtocolRequest, exchange: Exchange) -> Reply:
    """Return the JWKS, or 304 to a caller that has it."""
    reply = _rendered("keys", request, lambda: _keys(request))
    known = exchange.facts.headers.values.get(b"if-none-match")
    if known is not None and dict(reply.headers)[_TAG] in known:
        unchanged = tuple(header for header in reply.headers if header is not JSON)
        return Reply(HTTPStatus.NOT_MODIFIED, unchanged)
    return reply


async def get_realm_information(request: ProtocolRequest, exchange: Exchange) -> Reply:  # noqa: ARG001
    """Return the realm's public document."""
    return _rendered("information", request, lambda: _information(request))


def _rendered(name: str, request: ProtocolRequest, render: Callable[[], Reply]) -> Reply:
    documents = _RENDERED.get(request.realm)
    if documents is None:
        documents = _RENDERED[request.realm] = {}
    found = documents.get(name)
    if found is None or not found.begin <= request.now < found.end:
        period = request.realm.key_ring.same_keys(request.now)
        found = documents[name] = _Rendered(render(), *period)
    return found.reply


def _configuration(context: RealmContext, request: ProtocolRequest) -> Reply:
    mtls_issuer = context.mtls_issuer(request.realm.realm.name)
    document = openid_configuration(request.realm, request.issuer, mtls_issuer, request.now)
    return json_reply(document, headers=_NEVER_CACHED)


def _keys(request: ProtocolRequest) -> Reply:
    reply = json_reply(key_set(request.realm, request.now))
    tag = b'"' + hashlib.sha256(reply.body).hexdigest()[:32].encode() + b'"'
    headers: Headers = (_KEYS_CACHED, _FOR_EACH_ORIGIN, (_TAG, tag))
    return Reply(reply.status, (*reply.headers, *headers), reply.body)


def _information(request: ProtocolRequest) -> Reply:
    document = realm_information(request.realm, request.issuer, request.now)
    return json_reply(document, headers=(_FOR_EACH_ORIGIN,), content_type=JSON_UTF8)
