"""Claims of one text: a configured one, or a note of the session.

Keycloak: hardcoded claim mapper, user session note mapper
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import FieldError
from gateway.protocol.claims.claim_paths import CLAIM_NAME, values_writer
from gateway.protocol.claims.json_types import JSON_TYPE, UNMAPPABLE, reader_of
from gateway.protocol.claims.mapped_claims import AUTH_TIME, MappedClaims
from gateway.protocol.claims.mapper import RESPONSE_TOO, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.protocol_mapper_types import (
    CLAIM_PATH,
    CLAIM_TYPE,
    TYPED_CLAIM,
    MapperType,
)
from gateway.representations.provider_properties import Property
from gateway.representations.refusals import describe

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


def _value_error(config: Mapping[str, str]) -> FieldError | None:
    text = config.get("claim.value")
    if not text or reader_of(config)(text) is not UNMAPPABLE:
        return None
    return FieldError("config.claim.value", describe(text), f"a value of type {config[JSON_TYPE]}")


HARDCODED_CLAIM: Final = ClaimMapper(
    "oidc-hardcoded-claim-mapper",
    RESPONSE_TOO,
    _hardcoded_claim,
    MapperType(
        "Hardcoded claim",
        "The same for everybody",
        (
            CLAIM_PATH,
            Property("claim.value", "Claim value", "What it says"),
            CLAIM_TYPE,
        ),
    ),
    check=_value_error,
)
SESSION_NOTE: Final = ClaimMapper(
    "oidc-usersessionmodel-note-mapper",
    RESPONSE_TOO,
    _session_note,
    MapperType(
        "User Session Note",
        "A note of the session",
        (
            Property("user.session.note", "User Session Note", "The note's name"),
            *TYPED_CLAIM,
        ),
    ),
)
