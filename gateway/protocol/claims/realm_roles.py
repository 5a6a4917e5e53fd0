"""The subject's realm roles, composites resolved. Keycloak: user realm role mapper."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.role_claims import prefixed, role_path, roles_writer
from gateway.protocol.claims.subject import TokenSubject


def _prepare(mapper: ProtocolMapper) -> AddClaims | None:
    path = role_path(mapper.config)
    if path is None:
        return None
    write = roles_writer(mapper.config, path)
    prefix = mapper.config.get("usermodel.realmRoleMapping.rolePrefix", "")

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        """Add the roles; absent when there are none."""
        if subject.roles.realm:
            write(claims, path, prefixed(prefix, subject.roles.realm))

    return add


MAPPER: Final = ClaimMapper("oidc-usermodel-realm-role-mapper", EVERYWHERE, _prepare, late=True)
