"""The one table of URLs. The prefix /auth is stripped before it is read.

Spec: part 4 of the owner's specification; Keycloak: 12
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.routing import BaseRoute, Route

from gateway.domain.ports.metrics import Metrics
from gateway.http.cross_origin import (
    FOR_CLIENTS,
    FOR_SESSIONS,
    PUBLIC_METADATA,
    REALM_DOCUMENT,
    CrossOrigin,
)
from gateway.http.guarded_endpoint import Exemption, RealmCheck
from gateway.http.oidc.discovery import (
    get_keys,
    get_openid_configuration,
    get_realm_information,
)
from gateway.http.oidc.endpoints import (
    authorize_device,
    introspect,
    push_request,
    revoke,
    userinfo,
)
from gateway.http.oidc.token import TokenHandler
from gateway.http.realm_endpoint import ProtocolHandler, RealmContext, RealmEndpoint
from gateway.http.replies import NO_STORE, NOT_KEPT, Headers
from gateway.protocol.authorization import PushedRequestEndpoint
from gateway.protocol.device_authorization import DeviceAuthorizationEndpoint
from gateway.protocol.introspection import IntrospectionEndpoint
from gateway.protocol.revocation import RevocationEndpoint
from gateway.protocol.token_endpoint import TokenEndpoint
from gateway.protocol.userinfo import UserinfoEndpoint

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
