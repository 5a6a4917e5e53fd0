"""A note of the session under a claim of its own. Keycloak: user session note mapper."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.claim_paths import value_writer
from gateway.protocol.claims.mapper import RESPONSE_TOO, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject

_OWN_CLAIMS: Final = {"AUTH_TIME": "auth_time"}
"""Notes that the sign-in leaves for a claim which no other mapper may write."""


def _prepare(mapper: ProtocolMapper) -> AddClaims | None:
    note = mapper.config.get("user.session.note")
    write = value_writer(mapper.config, _OWN_CLAIMS.get(note or "", ""))
    if not note or write is None:
        return None

    def add(claims: dict[str, Any], subject: TokenSubject) -> None:
        """Add the note; absent when the session has none of that name."""
        text = subject.session_notes.get(note)
        if text is not None:
            write(claims, text)

    return add


MAPPER: Final = ClaimMapper("oidc-usersessionmodel-note-mapper", RESPONSE_TOO, _prepare)
