"""Mappers that include a claim which the grant decides: `sub`, `acr`, `amr` and others.

Spec: RFC 7519 §4.1.2 (`sub`), OpenID Connect Core §2 (`acr`), RFC 8176 §1 (`amr`); Keycloak: web
origins, session state mapper
"""

from typing import Final

from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ACCESS, EVERYWHERE, TOKENS, ClaimMapper, ClaimsFor
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.protocol_mapper_types import MapperType


def _sub(claims: MappedClaims, _: TokenSubject) -> None:
    claims.includes_subject = True


def _acr(claims: MappedClaims, _: TokenSubject) -> None:
    claims.includes_acr = True


def _amr(claims: MappedClaims, _: TokenSubject) -> None:
    """Include an empty list: methods are named in configurations that no authenticator has here."""
    claims.includes_amr = True


def _session_state(claims: MappedClaims, _: TokenSubject) -> None:
    claims.includes_session_state = True


def _allowed_origins(claims: MappedClaims, subject: TokenSubject) -> None:
    claims.allowed_origins = subject.client.allowed_origins


SUB: Final = ClaimMapper(
    "oidc-sub-mapper",
    ACCESS,
    lambda _: _sub,
    MapperType("Subject (sub)", "Who it is", priority=-10),
)
ACR: Final = ClaimMapper(
    "oidc-acr-mapper",
    TOKENS,
    lambda _: _acr,
    MapperType("Authentication Context Class Reference (ACR)", "How strong the sign-in was"),
)
AMR: Final = ClaimMapper(
    "oidc-amr-mapper",
    TOKENS - {ClaimsFor.INTROSPECTION},
    lambda _: _amr,
    MapperType("Authentication Method Reference (AMR)", "By what the user has signed in"),
)
SESSION_STATE: Final = ClaimMapper(
    "oidc-session-state-mapper",
    EVERYWHERE,
    lambda _: _session_state,
    MapperType("Session State (session_state)", "The id of the session"),
)
ALLOWED_ORIGINS: Final = ClaimMapper(
    "oidc-allowed-origins-mapper",
    ACCESS,
    lambda _: _allowed_origins,
    MapperType("Allowed Web Origins", "From where browsers may call the client"),
)
