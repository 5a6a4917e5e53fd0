"""An explicit audience: a client id, or any text. Keycloak: audience mapper."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import TOKENS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject

CLIENT: Final = "included.client.audience"
CUSTOM: Final = "included.custom.audience"


def _prepare(mapper: ProtocolMapper) -> AddClaims | None:
    """Take the configured client, or else the configured text."""
    audience = mapper.config.get(CLIENT) or mapper.config.get(CUSTOM)
    if not audience:
        return None

    def add(claims: MappedClaims, _: TokenSubject) -> None:
        claims.add_audiences((audience,))

    return add


MAPPER: Final = ClaimMapper("oidc-audience-mapper", TOKENS, _prepare)
