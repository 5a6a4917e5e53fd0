"""Audiences: one that is configured, and the clients on which the subject has roles.

Keycloak: audience mapper, audience resolve mapper; 2.2 `aud`
"""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ACCESS, TOKENS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.protocol_mapper_types import MapperType
from gateway.representations.provider_properties import Property

_CLIENT: Final = "included.client.audience"
_CUSTOM: Final = "included.custom.audience"


def _configured(mapper: ProtocolMapper) -> AddClaims | None:
    audience = mapper.config.get(_CLIENT) or mapper.config.get(_CUSTOM)
    if not audience:
        return None

    def add(claims: MappedClaims, _: TokenSubject) -> None:
        claims.add_audiences((audience,))

    return add


def _of_roles(claims: MappedClaims, subject: TokenSubject) -> None:
    """Add the clients whose roles the subject has, except the requesting one."""
    if subject.roles.clients:
        requesting = subject.client.client_id
        claims.add_audiences(name for name, _ in subject.roles.clients if name != requesting)


AUDIENCE: Final = ClaimMapper(
    "oidc-audience-mapper",
    TOKENS,
    _configured,
    MapperType(
        "Audience",
        "Adds one audience",
        (
            Property("included.client.audience", "Included Client Audience", "A client's id"),
            Property("included.custom.audience", "Included Custom Audience", "Any text"),
        ),
    ),
)
AUDIENCE_RESOLVE: Final = ClaimMapper(
    "oidc-audience-resolve-mapper",
    ACCESS,
    lambda _: _of_roles,
    MapperType("Audience Resolve", "Adds the clients of which the user has roles", priority=30),
    late=True,
)
