"""`session_state`: the session's id, under its name of old. Keycloak: session state mapper."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: MappedClaims, _: TokenSubject) -> None:
    """Include the id; absent for a transient session."""
    claims.includes_session_state = True


MAPPER: Final = ClaimMapper("oidc-session-state-mapper", EVERYWHERE, _prepare)
