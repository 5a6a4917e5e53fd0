"""Audiences from roles: every other client on which the subject has a role. Keycloak: 2.2 `aud`."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.audiences import add_audiences
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-audience-resolve-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the clients whose roles the subject has, but not the one that asks."""
    asking = subject.client.client_id
    add_audiences(claims, (name for name, _ in subject.roles.clients if name != asking))
