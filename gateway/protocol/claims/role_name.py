"""A role under another name, or of another client. Keycloak: role name mapper."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims.changed_roles import has_role, parse_role, with_role, without_role
from gateway.protocol.claims.mapper import ChangeRoles, RoleMapper


def _prepare(mapper: ProtocolMapper) -> ChangeRoles | None:
    client, name = parse_role(mapper.config.get("role", ""))
    new_client, new_name = parse_role(mapper.config.get("new.role.name", ""))
    if not name or not new_name:
        return None

    def change(roles: EffectiveRoles) -> EffectiveRoles:
        """Rename the role where the subject has it."""
        if not has_role(roles, client, name):
            return roles
        return with_role(without_role(roles, client, name), new_client, new_name)

    return change


MAPPER: Final = RoleMapper("oidc-role-name-mapper", 10, _prepare)
