"""The one table of URLs. The prefix /auth is stripped before it is read.

Spec: part 4 of the owner's specification; Keycloak: 12
"""

from dataclasses import dataclass
from typing import Final

from starlette.routing import BaseRoute, Route

from gateway.domain.ports.metrics import Metrics
from gateway.http.guarded_endpoint import Exemption, RealmCheck
from gateway.http.oidc.discovery import (
    OpenIdConfigurationHandler,
    key_set_handler,
    realm_information_handler,
)
from gateway.http.oidc.introspection import IntrospectionHandler
from gateway.http.oidc.logout import LogoutHandler
from gateway.http.oidc.revocation import RevocationHandler
from gateway.http.oidc.token import TokenHandler
from gateway.http.oidc.userinfo import UserinfoHandler
from gateway.http.realm_endpoint import ProtocolHandler, RealmContext, RealmEndpoint
from gateway.http.replies import NO_STORE, Headers
from gateway.protocol.introspection import IntrospectionEndpoint
from gateway.protocol.logout import LogoutEndpoint
from gateway.protocol.revocation import RevocationEndpoint
from gateway.protocol.token_endpoint import TokenEndpoint
from gateway.protocol.userinfo import UserinfoEndpoint

_PROTOCOL: Final = "/realms/{realm}/protocol/openid-connect"


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    handler: ProtocolHandler
    methods: tuple[str, ...] = ("GET", "HEAD")
    always: Headers = ()
    exempt: tuple[Exemption, ...] = ()


_PUBLIC_METADATA: Final = (
    Exemption(
        RealmCheck.ENABLED,
        "Keycloak publishes metadata and keys of a disabled realm too; they are public, and a"
        " resource server needs them to tell an expired token from a forged one",
    ),
)


@dataclass(frozen=True, slots=True)
class ProtocolEndpoints:
    """The rules of the endpoints that take parameters."""

    token: TokenEndpoint
    introspection: IntrospectionEndpoint
    revocation: RevocationEndpoint
    userinfo: UserinfoEndpoint
    logout: LogoutEndpoint


def build_routes(
    context: RealmContext, endpoints: ProtocolEndpoints, metrics: Metrics
) -> list[BaseRoute]:
    """Return every URL of the protocol, the busiest first."""
    token = TokenHandler(endpoints.token, metrics)
    introspection = IntrospectionHandler(endpoints.introspection)
    revocation = RevocationHandler(endpoints.revocation)
    userinfo = UserinfoHandler(endpoints.userinfo)
    logout = LogoutHandler(endpoints.logout)
    rows = (
        _Row(f"{_PROTOCOL}/token", token, ("POST",), NO_STORE),
        _Row(f"{_PROTOCOL}/token/introspect", introspection, ("POST",), NO_STORE),
        _Row(f"{_PROTOCOL}/revoke", revocation, ("POST",), NO_STORE),
        _Row(f"{_PROTOCOL}/userinfo", userinfo, ("GET", "HEAD", "POST"), NO_STORE),
        _Row(f"{_PROTOCOL}/logout", logout, ("POST",), NO_STORE),
        _Row(f"{_PROTOCOL}/certs", key_set_handler, exempt=_PUBLIC_METADATA),
        _Row(
            "/realms/{realm}/.well-known/openid-configuration",
            OpenIdConfigurationHandler(context),
            exempt=_PUBLIC_METADATA,
        ),
        _Row("/realms/{realm}", realm_information_handler, exempt=_PUBLIC_METADATA),
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
            ),
        )
        for row in rows
    ]
