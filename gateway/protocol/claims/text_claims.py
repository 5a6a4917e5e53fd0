"""Claims of one text: a configured one, or a note of the session.

Keycloak: hardcoded claim mapper, user session note mapper
"""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.claim_paths import CLAIM_NAME, values_writer
from gateway.protocol.claims.mapped_claims import AUTH_TIME, MappedClaims
from gateway.protocol.claims.mapper import RESPONSE_TOO, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject

_AUTH_TIME_CLAIM: Final = "auth_time"


def _hardcoded_claim(mapper: ProtocolMapper) -> AddClaims | None:
    text = mapper.config.get("claim.value")
    write = values_writer(mapper.config, single=True)
    if not text or write is None:
        return None

    def add(claims: MappedClaims, _: TokenSubject) -> None:
        write(claims, (text,))

    return add


def _session_note(mapper: ProtocolMapper) -> AddClaims | None:
    note = mapper.config.get("user.session.note")
    if note == AUTH_TIME and mapper.config.get(CLAIM_NAME) == _AUTH_TIME_CLAIM:
        return _include_auth_time
    write = values_writer(mapper.config, single=True)
    if not note or write is None:
        return None

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        text = subject.session_notes.get(note)
        if text is not None:
            write(claims, (text,))

    return add


def _include_auth_time(claims: MappedClaims, _: TokenSubject) -> None:
    claims.includes_auth_time = True


HARDCODED_CLAIM: Final = ClaimMapper("oidc-hardcoded-claim-mapper", RESPONSE_TOO, _hardcoded_claim)
SESSION_NOTE: Final = ClaimMapper("oidc-usersessionmodel-note-mapper", RESPONSE_TOO, _session_note)
