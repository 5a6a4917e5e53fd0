"""Mappers that include a claim which the grant decides: `sub`, `acr`, `amr` and others.

Spec: RFC 7519 §4.1.2 (`sub`), OpenID Connect Core §2 (`acr`), RFC 8176 §1 (`amr`); Keycloak: web
origins, session state mapper
"""

from typing import Final

from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ACCESS, EVERYWHERE, TOKENS, ClaimMapper, ClaimsFor
from gateway.protocol.claims.subject import TokenSubject


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


SUB: Final = ClaimMapper("oidc-sub-mapper", ACCESS, lambda _: _sub)
ACR: Final = ClaimMapper("oidc-acr-mapper", TOKENS, lambda _: _acr)
AMR: Final = ClaimMapper("oidc-amr-mapper", TOKENS - {ClaimsFor.INTROSPECTION}, lambda _: _amr)
SESSION_STATE: Final = ClaimMapper(
    "oidc-session-state-mapper", EVERYWHERE, lambda _: _session_state
)
ALLOWED_ORIGINS: Final = ClaimMapper(
    "oidc-allowed-origins-mapper", ACCESS, lambda _: _allowed_origins
)
