"""The one table of URLs. The prefix /auth is stripped before it is read.

Spec: part 4 of the owner's specification; Keycloak: 12
"""

from dataclasses import dataclass
from typing import Final

from starlette.routing import BaseRoute, Route

from gateway.domain.ports.metrics import Metrics
from gateway.domain.ports.storage import Database
from gateway.http.oidc.discovery import (
    OpenIdConfigurationHandler,
    key_set_handler,
    realm_information_handler,
)
from gateway.http.oidc.introspection import IntrospectionHandler
from gateway.http.oidc.revocation import RevocationHandler
from gateway.http.oidc.token import TokenHandler
from gateway.http.realm_endpoint import ProtocolHandler, RealmContext, RealmEndpoint
from gateway.http.replies import NO_STORE, Headers
from gateway.protocol.access_tokens import AccessTokens
from gateway.protocol.introspection import IntrospectionEndpoint
from gateway.protocol.revocation import RevocationEndpoint
from gateway.protocol.token_endpoint import TokenEndpoint

_PROTOCOL: Final = "/realms/{realm}/protocol/openid-connect"


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    handler: ProtocolHandler
    methods: tuple[str, ...] = ("GET", "HEAD")
    always: Headers = ()


def build_routes(context: RealmContext, database: Database, metrics: Metrics) -> list[BaseRoute]:
    """Return every URL that the gateway answers, the busiest first."""
    directory = context.directory
    access_tokens = AccessTokens(directory, database)
    token = TokenHandler(TokenEndpoint(directory), metrics)
    introspection = IntrospectionHandler(IntrospectionEndpoint(directory, access_tokens))
    revocation = RevocationHandler(RevocationEndpoint(directory, access_tokens, database))
    rows = (
        _Row(f"{_PROTOCOL}/token", token, ("POST",), NO_STORE),
        _Row(f"{_PROTOCOL}/token/introspect", introspection, ("POST",), NO_STORE),
        _Row(f"{_PROTOCOL}/revoke", revocation, ("POST",), NO_STORE),
        _Row(f"{_PROTOCOL}/certs", key_set_handler),
        _Row(
            "/realms/{realm}/.well-known/openid-configuration", OpenIdConfigurationHandler(context)
        ),
        _Row("/realms/{realm}", realm_information_handler),
    )
    return [
        Route(
            row.path,
            RealmEndpoint(row.path, row.handler, context, methods=row.methods, always=row.always),
        )
        for row in rows
    ]
