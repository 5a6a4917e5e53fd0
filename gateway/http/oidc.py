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
from gateway.protocol.authorization import push_request
from gateway.protocol.device_authorization import authorize_device
from gateway.protocol.discovery import key_set, openid_configuration, realm_information
from gateway.protocol.errors import OAuthError
from gateway.protocol.introspection import introspect_token
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.revocation import revoke_token
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.token_endpoint import issue_token
from gateway.protocol.tokens import sign_introspection, with_access_token_claims_as_jwt
from gateway.protocol.userinfo import get_userinfo

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


async def answer_introspection(
    services: ProtocolServices, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return the state and the claims of a token."""
    caller, answer = await introspect_token(services, request)
    exchange.log.client = caller.entry.client.client_id
    if answer["active"]:
        exchange.log.token_id = str(answer["jti"])
    client, accept = caller.entry.client, exchange.facts.headers.text(b"accept") or ""
    signed = sign_introspection(request, client, accept, answer)
    if signed is not None:
        return jwt_reply(signed, "application/token-introspection+jwt")
    return json_reply(with_access_token_claims_as_jwt(request, client, accept, answer))


async def answer_revocation(
    services: ProtocolServices, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return 200 with an empty body, or with the reason why nothing was revoked."""
    caller, refusal = await revoke_token(services, request)
    exchange.log.client = caller.entry.client.client_id
    if refusal is not None:
        exchange.log.reason = str(refusal.reason)
        return oauth_error(refusal.error, refusal.description, status=HTTPStatus.OK)
    return Reply(HTTPStatus.OK, only_on_pages(request.realm.realm.security_headers))


async def answer_userinfo(
    services: ProtocolServices, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return the claims of the user of an access token, in JSON or as a JWT."""
    active, answer = await get_userinfo(services, request)
    exchange.log.client = active.client.client.client_id
    exchange.log.token_id = str(active.claims["jti"])
    return jwt_reply(answer, "application/jwt") if isinstance(answer, str) else json_reply(answer)


async def answer_pushed_request(
    services: ProtocolServices, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return 201 and the reference of the request. Spec: RFC 9126 §2.2."""
    caller, pushed = await push_request(
        services.clients, services.checks, services.constraint, request
    )
    exchange.log.client = caller.entry.client.client_id
    seconds = pushed.lifespan // timedelta(seconds=1)
    document = {"request_uri": pushed.request_uri, "expires_in": seconds}
    return json_reply(document, status=HTTPStatus.CREATED)


async def answer_device(
    services: ProtocolServices, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return the codes of a device. Spec: RFC 8628 §3.2."""
    caller, codes = await authorize_device(services, request)
    exchange.log.client = caller.entry.client.client_id
    return json_reply(codes.document())


async def answer_token_request(
    services: ProtocolServices, metrics: Metrics, request: ProtocolRequest, exchange: Exchange
) -> Reply:
    """Return tokens; count the request by grant and outcome."""
    grant_type = request.parameters.raw("grant_type") or ""
    count = partial(metrics.token_grant, request.realm.realm.name, grant_type)
    try:
        caller, tokens = await issue_token(services, request)
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


def build_routes(
    context: RealmContext, services: ProtocolServices, metrics: Metrics
) -> list[BaseRoute]:
    """Return every URL of the protocol, the busiest first."""
    post = ("POST",)
    rows = (
        _Row(
            f"{_PROTOCOL}/token",
            partial(answer_token_request, services, metrics),
            post,
            NO_STORE,
            cross_origin=FOR_CLIENTS,
        ),
        _Row(
            f"{_PROTOCOL}/token/introspect", partial(answer_introspection, services), post, NO_STORE
        ),
        _Row(
            f"{_PROTOCOL}/revoke",
            partial(answer_revocation, services),
            post,
            NO_STORE,
            cross_origin=FOR_CLIENTS,
        ),
        _Row(
            f"{_PROTOCOL}/userinfo",
            partial(answer_userinfo, services),
            ("GET", "HEAD", "POST"),
            NO_STORE,
            _CHALLENGED,
            cross_origin=FOR_SESSIONS,
        ),
        _Row(
            f"{_PROTOCOL}/ext/par/request",
            partial(answer_pushed_request, services),
            post,
            NO_STORE,
            cross_origin=FOR_CLIENTS,
        ),
        _Row(
            f"{_PROTOCOL}/auth/device",
            partial(answer_device, services),
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
