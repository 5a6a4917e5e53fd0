"""A note of the session under a claim of its own. Keycloak: user session note mapper."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-usersessionmodel-note-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the note; absent when the session has none of that name."""
    value = subject.session_notes.get(mapper.config.get("user.session.note", ""))
    claim = mapper.config.get("claim.name")
    if claim and value is not None:
        claims[claim] = value
