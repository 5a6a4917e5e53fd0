"""`sub`: the user's id. Spec: RFC 7519 §4.1.2."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ACCESS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: MappedClaims, _: TokenSubject) -> None:
    claims.includes_subject = True


MAPPER: Final = ClaimMapper("oidc-sub-mapper", ACCESS, _prepare)
