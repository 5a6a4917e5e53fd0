"""Audiences: one that is configured, and the clients on which the subject has roles.

Keycloak: audience mapper, audience resolve mapper; 2.2 `aud`
"""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ACCESS, TOKENS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject

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


AUDIENCE: Final = ClaimMapper("oidc-audience-mapper", TOKENS, _configured)
AUDIENCE_RESOLVE: Final = ClaimMapper(
    "oidc-audience-resolve-mapper", ACCESS, lambda _: _of_roles, late=True
)
