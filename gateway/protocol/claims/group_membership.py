"""The groups of the subject, as paths or as names. Keycloak: group membership mapper."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.claim_paths import claim_path
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(mapper: ProtocolMapper) -> AddClaims | None:
    path = claim_path(mapper.config)
    if path is None:
        return None
    full = mapper.config.get("full.path") == "true"

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        """Add the list of groups, and nothing where the subject is in none."""
        groups = subject.groups
        if groups:
            names = [group if full else group.rsplit("/", 1)[-1] for group in groups]
            claims.put(path, names)

    return add


MAPPER: Final = ClaimMapper("oidc-group-membership-mapper", EVERYWHERE, _prepare)
