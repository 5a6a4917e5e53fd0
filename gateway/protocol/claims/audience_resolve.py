"""Audiences from roles: every other client on which the subject has a role. Keycloak: 2.2 `aud`."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ACCESS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: MappedClaims, subject: TokenSubject) -> None:
    """Add the clients whose roles the subject has, but not the one that asks."""
    if subject.roles.clients:
        asking = subject.client.client_id
        claims.add_audiences(name for name, _ in subject.roles.clients if name != asking)


MAPPER: Final = ClaimMapper("oidc-audience-resolve-mapper", ACCESS, _prepare, late=True)
