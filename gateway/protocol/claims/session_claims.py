"""Mappers of claims about grant and session: subject, level, audience, notes, fixed values.

Spec: RFC 7519 §4.1.2 (`sub`), OpenID Connect Core §2 (`acr`), RFC 8176 §1 (`amr`); Keycloak: 2.2
`aud`, web origins, session state mapper, audience mapper, hardcoded claim mapper
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import FieldError
from gateway.protocol.claims.mapper import (
    ACCESS,
    AUTH_TIME,
    CLAIM_NAME,
    EVERYWHERE,
    JSON_TYPE,
    RESPONSE_TOO,
    TOKENS,
    UNMAPPABLE,
    AddClaims,
    ClaimMapper,
    ClaimsFor,
    MappedClaims,
    reader_of,
    values_writer,
)
from gateway.protocol.claims.subject import SALT, TokenSubject, check_pairwise
from gateway.representations.client_scopes import (
    CLAIM_PATH,
    CLAIM_TYPE,
    PAIRWISE_MAPPER,
    SECTOR_URI,
    TYPED_CLAIM,
    MapperType,
)
from gateway.representations.components import Property
from gateway.representations.refusals import describe


def _including(name: str) -> AddClaims:
    """Return what includes the protocol claim with this name in the document."""

    def include(claims: MappedClaims, _: TokenSubject) -> None:
        claims.decided.add(name)

    return include


_INCLUDE_AUTH_TIME: Final = _including("auth_time")


def _allowed_origins(claims: MappedClaims, subject: TokenSubject) -> None:
    claims.allowed_origins = subject.client.allowed_origins


SUB: Final = ClaimMapper(
    "oidc-sub-mapper",
    ACCESS,
    lambda _: _including("sub"),
    MapperType("Subject (sub)", "Who it is", priority=-10),
)
ACR: Final = ClaimMapper(
    "oidc-acr-mapper",
    TOKENS,
    lambda _: _including("acr"),
    MapperType("Authentication Context Class Reference (ACR)", "How strong the sign-in was"),
)
AMR: Final = ClaimMapper(
    "oidc-amr-mapper",
    TOKENS - {ClaimsFor.INTROSPECTION},
    lambda _: _including("amr"),
    MapperType("Authentication Method Reference (AMR)", "By what the user has signed in"),
)
SESSION_STATE: Final = ClaimMapper(
    "oidc-session-state-mapper",
    EVERYWHERE,
    lambda _: _including("session_state"),
    MapperType("Session State (session_state)", "The id of the session"),
)
ALLOWED_ORIGINS: Final = ClaimMapper(
    "oidc-allowed-origins-mapper",
    ACCESS,
    lambda _: _allowed_origins,
    MapperType("Allowed Web Origins", "From where browsers may call the client"),
)


PAIRWISE_SUBJECT: Final = ClaimMapper(
    PAIRWISE_MAPPER,
    EVERYWHERE,
    lambda _: None,
    MapperType(
        "Pairwise subject identifier",
        "An identifier of the user that no other sector gets",
        (
            Property(
                SECTOR_URI,
                "Sector Identifier URI",
                "https address of a JSON array of the redirect URIs; its host is the sector",
            ),
            Property(SALT, "Salt", "Keeps identifiers from being guessed"),
        ),
    ),
    check=check_pairwise,
)


_INCLUDED_CLIENT: Final = "included.client.audience"
_CUSTOM_AUDIENCE: Final = "included.custom.audience"


def _configured_audience(mapper: ProtocolMapper) -> AddClaims | None:
    audience = mapper.config.get(_INCLUDED_CLIENT) or mapper.config.get(_CUSTOM_AUDIENCE)
    if not audience:
        return None

    def add(claims: MappedClaims, _: TokenSubject) -> None:
        claims.add_audiences((audience,))

    return add


def _audience_of_roles(claims: MappedClaims, subject: TokenSubject) -> None:
    """Add the clients whose roles the subject has, except the requesting one."""
    if subject.roles.clients:
        requesting = subject.client.client_id
        claims.add_audiences(name for name, _ in subject.roles.clients if name != requesting)


AUDIENCE: Final = ClaimMapper(
    "oidc-audience-mapper",
    TOKENS,
    _configured_audience,
    MapperType(
        "Audience",
        "Adds one audience",
        (
            Property("included.client.audience", "Included Client Audience", "A client's id"),
            Property("included.custom.audience", "Included Custom Audience", "Any text"),
        ),
    ),
)
AUDIENCE_RESOLVE: Final = ClaimMapper(
    "oidc-audience-resolve-mapper",
    ACCESS,
    lambda _: _audience_of_roles,
    MapperType("Audience Resolve", "Adds the clients of which the user has roles", priority=30),
    late=True,
)


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
        return _INCLUDE_AUTH_TIME
    write = values_writer(mapper.config, single=True)
    if not note or write is None:
        return None

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        text = subject.session_notes.get(note)
        if text is not None:
            write(claims, (text,))

    return add


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
