"""`amr`: by what means the subject authenticated. Spec: RFC 8176 §1.

An authenticator's means are named in its configuration, which none here has: the list is empty,
as Keycloak's is then.
"""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import TOKENS, AddClaims, ClaimMapper, ClaimsFor
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: MappedClaims, _: TokenSubject) -> None:
    claims.includes_amr = True


MAPPER: Final = ClaimMapper("oidc-amr-mapper", TOKENS - {ClaimsFor.INTROSPECTION}, _prepare)
