"""A claim with the same value in every token. Keycloak: hardcoded claim mapper."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.claim_paths import values_writer
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import RESPONSE_TOO, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(mapper: ProtocolMapper) -> AddClaims | None:
    text = mapper.config.get("claim.value")
    write = values_writer(mapper.config, single=True)
    if not text or write is None:
        return None

    def add(claims: MappedClaims, _: TokenSubject) -> None:
        write(claims, (text,))

    return add


MAPPER: Final = ClaimMapper("oidc-hardcoded-claim-mapper", RESPONSE_TOO, _prepare)
