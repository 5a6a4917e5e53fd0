"""OAuth 2.0 and OpenID Connect endpoints of a realm, and the table of their URLs.

The prefix /auth is stripped before the table is read. Metadata, keys and the public document of a
realm are each rendered once: they stay the same until the realm changes, or one of its keys begins
to sign or retires. Keycloak: 12 (protocol endpoints)

Spec: part 4 of the owner's specification; RFC 6749 §3.2;
OpenID Connect Discovery §4, RFC 7517 §5, RFC 9110 §13.1.2 (If-None-Match);
RFC 7662 §2 and RFC 9701 §4 (introspection, as a JWT where the caller asks for it);
RFC 7009 §2; OpenID Connect Core §5.3 and §5.3.2 (userinfo, as a JWT where the client chose an
algorithm to sign or to encrypt).
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Final
from weakref import WeakKeyDictionary

from starlette.routing import BaseRoute, Route

from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.observability import Metrics
from gateway.http.cross_origin import (
    FOR_CLIENTS,
    FOR_SESSIONS,
    PUBLIC_METADATA,
    REALM_DOCUMENT,
    CrossOrigin,
)
from gateway.http.exchange import Exchange
from gateway.http.middleware import only_on_pages
from gateway.http.realm_endpoint import (
    Exemption,
    ProtocolHandler,
    RealmCheck,
    RealmContext,
    RealmEndpoint,
)
from gateway.http.replies import (
    JSON,
    JSON_UTF8,
    NO_STORE,
    NOT_KEPT,
    Headers,
    Reply,
    json_reply,
    jwt_reply,
    oauth_error,
)
from gateway.protocol.authorization import PushedRequestEndpoint
from gateway.protocol.device_authorization import DeviceAuthorizationEndpoint
from gateway.protocol.discovery import key_set, openid_configuration, realm_information
from gateway.protocol.errors import OAuthError
from gateway.protocol.introspection import IntrospectionEndpoint
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.revocation import RevocationEndpoint
from gateway.protocol.token_endpoint import TokenEndpoint
from gateway.protocol.tokens import sign_introspection, with_access_token_claims_as_jwt
from gateway.protocol.userinfo import UserinfoEndpoint

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


class TokenHandler:
    """Answers token requests, and counts them by grant and outcome."""

    def __init__(self, endpoint: TokenEndpoint, metrics: Metrics) -> None:
        self._endpoint = endpoint
        self._metrics = metrics

    async def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Reply:
        grant_type = request.parameters.raw("grant_type") or ""
        count = partial(self._metrics.token_grant, request.realm.realm.name, grant_type)
        try:
            caller, tokens = await self._endpoint.answer(request)
        except OAuthError as error:
            count(error.error)
            raise
        count("issued")
        exchange.log.client = caller.entry.client.client_id
        exchange.log.client_auth_method = caller.method
        exchange.log.token_id = tokens.token_id
        return json_reply(tokens.document())


_PROTOCOL: Final = "/realms/{realm}/protocol/openid-connect"


_METADATA: Final = (
    "/realms/{realm}/.well-known/openid-configuration",
    "/realms/{realm}/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/realms/{realm}",
)
"""OpenID Connect Discovery §4, and RFC 8414 §3: below the realm as in Keycloak, and inserted."""


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    handler: ProtocolHandler
    methods: tuple[str, ...] = ("GET", "HEAD")
    always: Headers = ()
    exempt: tuple[Exemption, ...] = ()
    cross_origin: CrossOrigin | None = None


_PUBLIC: Final = (
    Exemption(
        RealmCheck.ENABLED,
        "Keycloak publishes metadata and keys of a disabled realm too; they are public, and a"
        " resource server needs them to tell an expired token from a forged one",
    ),
)


_CHALLENGED: Final = (
    Exemption(
        RealmCheck.ENABLED,
        "a bearer is answered by WWW-Authenticate alone; the endpoint rejects every token of a"
        " disabled realm",
    ),
)


@dataclass(frozen=True, slots=True)
class ProtocolEndpoints:
    """The rules of the endpoints that take parameters."""

    token: TokenEndpoint
    introspection: IntrospectionEndpoint
    revocation: RevocationEndpoint
    userinfo: UserinfoEndpoint
    pushed_requests: PushedRequestEndpoint
    devices: DeviceAuthorizationEndpoint


def build_routes(
    context: RealmContext, endpoints: ProtocolEndpoints, metrics: Metrics
) -> list[BaseRoute]:
    """Return every URL of the protocol, the busiest first."""
    post, each = ("POST",), endpoints
    rows = (
        _Row(
            f"{_PROTOCOL}/token",
            TokenHandler(each.token, metrics),
            post,
            NO_STORE,
            cross_origin=FOR_CLIENTS,
        ),
        _Row(
            f"{_PROTOCOL}/token/introspect", partial(introspect, each.introspection), post, NO_STORE
        ),
        _Row(
            f"{_PROTOCOL}/revoke",
            partial(revoke, each.revocation),
            post,
            NO_STORE,
            cross_origin=FOR_CLIENTS,
        ),
        _Row(
            f"{_PROTOCOL}/userinfo",
            partial(userinfo, each.userinfo),
            ("GET", "HEAD", "POST"),
            NO_STORE,
            _CHALLENGED,
            cross_origin=FOR_SESSIONS,
        ),
        _Row(
            f"{_PROTOCOL}/ext/par/request",
            partial(push_request, each.pushed_requests),
            post,
            NO_STORE,
            cross_origin=FOR_CLIENTS,
        ),
        _Row(
            f"{_PROTOCOL}/auth/device",
            partial(authorize_device, each.devices),
            post,
            NOT_KEPT,
            cross_origin=FOR_CLIENTS,
        ),
        _Row(f"{_PROTOCOL}/certs", get_keys, exempt=_PUBLIC, cross_origin=PUBLIC_METADATA),
        *(
            _Row(
                path,
                partial(get_openid_configuration, context),
                exempt=_PUBLIC,
                cross_origin=PUBLIC_METADATA,
            )
            for path in _METADATA
        ),
        _Row(
            "/realms/{realm}",
            get_realm_information,
            exempt=_PUBLIC,
            cross_origin=REALM_DOCUMENT,
        ),
    )
    return [
        Route(
            row.path,
            RealmEndpoint(
                row.path,
                row.handler,
                context,
                methods=row.methods,
                exempt=row.exempt,
                always=row.always,
                cross_origin=row.cross_origin,
                # Public documents are the same for every caller.
                uses_certificate=row.exempt is not _PUBLIC,
            ),
        )
        for row in rows
    ]
