"""A role that tokens tell of everybody, held or not. Keycloak: hardcoded role mapper."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims.changed_roles import parse_role, with_role
from gateway.protocol.claims.mapper import ChangeRoles, RoleMapper


def _prepare(mapper: ProtocolMapper) -> ChangeRoles | None:
    client, name = parse_role(mapper.config.get("role", ""))
    if not name:
        return None

    def change(roles: EffectiveRoles) -> EffectiveRoles:
        return with_role(roles, client, name)

    return change


MAPPER: Final = RoleMapper("oidc-hardcoded-role-mapper", 20, _prepare)
