"""The groups of the subject, as paths or as names. Keycloak: group membership mapper."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-group-membership-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the list of groups, empty where the subject is in none."""
    claim = mapper.config.get("claim.name")
    if claim:
        full = mapper.config.get("full.path", "true") == "true"
        claims[claim] = [path if full else path.rsplit("/", 1)[-1] for path in subject.groups]
