"""`session_state`: the session's id, under its name of old. Keycloak: session state mapper."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: dict[str, Any], subject: TokenSubject) -> None:
    """Add the id; absent for a transient session."""
    if subject.session_id is not None:
        claims["session_state"] = subject.session_id


MAPPER: Final = ClaimMapper("oidc-session-state-mapper", EVERYWHERE, _prepare)
