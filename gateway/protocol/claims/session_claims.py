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
    ALWAYS_IN_ACCESS,
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
from gateway.protocol.claims.subject import TokenSubject, check_pairwise
from gateway.representations.client_scopes import PAIRWISE_MAPPER
from gateway.representations.refusals import describe


def _including(name: str) -> AddClaims:
    def include(claims: MappedClaims, _: TokenSubject) -> None:
        claims.decided.add(name)

    return include


_INCLUDE_AUTH_TIME: Final = _including("auth_time")


def _allowed_origins(claims: MappedClaims, subject: TokenSubject) -> None:
    claims.allowed_origins = subject.client.allowed_origins


SUB: Final = ClaimMapper("oidc-sub-mapper", ACCESS, lambda _: _including("sub"))
ACR: Final = ClaimMapper("oidc-acr-mapper", TOKENS, lambda _: _including("acr"))
AMR: Final = ClaimMapper(
    "oidc-amr-mapper", TOKENS - {ClaimsFor.INTROSPECTION}, lambda _: _including("amr")
)
SESSION_STATE: Final = ClaimMapper(
    "oidc-session-state-mapper", EVERYWHERE, lambda _: _including("session_state")
)
ALLOWED_ORIGINS: Final = ClaimMapper(
    "oidc-allowed-origins-mapper",
    ACCESS,
    lambda _: _allowed_origins,
    default_purposes=ALWAYS_IN_ACCESS,
)


PAIRWISE_SUBJECT: Final = ClaimMapper(
    PAIRWISE_MAPPER, EVERYWHERE, lambda _: None, check=check_pairwise
)


def _configured_audience(mapper: ProtocolMapper) -> AddClaims | None:
    audience = mapper.config.get("included.client.audience") or mapper.config.get(
        "included.custom.audience"
    )
    if not audience:
        return None

    def add_claims(claims: MappedClaims, _: TokenSubject) -> None:
        claims.add_audiences((audience,))

    return add_claims


def _audience_of_roles(claims: MappedClaims, subject: TokenSubject) -> None:
    """Add the clients whose roles the subject has, except the requesting one."""
    if subject.roles.clients:
        requesting = subject.client.client_id
        claims.add_audiences(name for name, _ in subject.roles.clients if name != requesting)


AUDIENCE: Final = ClaimMapper("oidc-audience-mapper", TOKENS, _configured_audience)
AUDIENCE_RESOLVE: Final = ClaimMapper(
    "oidc-audience-resolve-mapper",
    ACCESS,
    lambda _: _audience_of_roles,
    late=True,
    default_purposes=ALWAYS_IN_ACCESS,
)


def _hardcoded_claim(mapper: ProtocolMapper) -> AddClaims | None:
    text = mapper.config.get("claim.value")
    write = values_writer(mapper.config, single=True)
    if not text or write is None:
        return None

    def add_claims(claims: MappedClaims, _: TokenSubject) -> None:
        write(claims, (text,))

    return add_claims


def _session_note(mapper: ProtocolMapper) -> AddClaims | None:
    note = mapper.config.get("user.session.note")
    if note == AUTH_TIME and mapper.config.get(CLAIM_NAME) == "auth_time":
        return _INCLUDE_AUTH_TIME
    write = values_writer(mapper.config, single=True)
    if not note or write is None:
        return None

    def add_claims(claims: MappedClaims, subject: TokenSubject) -> None:
        text = subject.session_notes.get(note)
        if text is not None:
            write(claims, (text,))

    return add_claims


def _value_error(config: Mapping[str, str]) -> FieldError | None:
    text = config.get("claim.value")
    if not text or reader_of(config)(text) is not UNMAPPABLE:
        return None
    return FieldError("config.claim.value", describe(text), f"a value of type {config[JSON_TYPE]}")


HARDCODED_CLAIM: Final = ClaimMapper(
    "oidc-hardcoded-claim-mapper", RESPONSE_TOO, _hardcoded_claim, check=_value_error
)
SESSION_NOTE: Final = ClaimMapper("oidc-usersessionmodel-note-mapper", RESPONSE_TOO, _session_note)
