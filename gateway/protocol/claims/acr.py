"""`acr`: how strongly the subject authenticated. Spec: OpenID Connect Core §2."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import TOKENS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: MappedClaims, _: TokenSubject) -> None:
    claims.includes_acr = True


MAPPER: Final = ClaimMapper("oidc-acr-mapper", TOKENS, _prepare)
