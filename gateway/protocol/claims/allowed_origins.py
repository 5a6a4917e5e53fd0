"""`allowed-origins`: where a browser may use the token from. Keycloak: web origins."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ACCESS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: MappedClaims, subject: TokenSubject) -> None:
    """Add the client's web origins; absent when it names none."""
    claims.allowed_origins = subject.client.allowed_origins


MAPPER: Final = ClaimMapper("oidc-allowed-origins-mapper", ACCESS, _prepare)
