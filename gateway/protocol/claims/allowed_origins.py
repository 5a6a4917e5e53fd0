"""`allowed-origins`: where a browser may use the token from. Keycloak: web origins."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ACCESS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.clients import allowed_origins


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: MappedClaims, subject: TokenSubject) -> None:
    """Add the client's web origins; absent when it names none."""
    if subject.client.web_origins:
        claims.allowed_origins = tuple(allowed_origins(subject.client))


MAPPER: Final = ClaimMapper("oidc-allowed-origins-mapper", ACCESS, _prepare)
