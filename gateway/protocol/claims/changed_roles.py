"""Mappers that change roles: add one to every token, or rename one.

Keycloak: hardcoded role mapper, role name mapper
"""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims.mapper import ChangeRoles, RoleMapper


def parse_role(text: str) -> tuple[str | None, str]:
    """Return client and name of `client.name`; the client is None for a realm role."""
    client, dot, name = text.rpartition(".")
    return (client if dot else None, name)


def _hardcoded(mapper: ProtocolMapper) -> ChangeRoles | None:
    client, name = parse_role(mapper.config.get("role", ""))
    if not name:
        return None

    def change(roles: EffectiveRoles) -> EffectiveRoles:
        return _with(roles, client, {*_names(roles, client), name})

    return change


def _renamed(mapper: ProtocolMapper) -> ChangeRoles | None:
    client, name = parse_role(mapper.config.get("role", ""))
    new_client, new_name = parse_role(mapper.config.get("new.role.name", ""))
    if not name or not new_name:
        return None

    def change(roles: EffectiveRoles) -> EffectiveRoles:
        if name not in _names(roles, client):
            return roles
        others = _with(roles, client, {*_names(roles, client)} - {name})
        return _with(others, new_client, {*_names(others, new_client), new_name})

    return change


def _names(roles: EffectiveRoles, client: str | None) -> tuple[str, ...]:
    return roles.realm if client is None else dict(roles.clients).get(client, ())


def _with(roles: EffectiveRoles, client: str | None, names: set[str]) -> EffectiveRoles:
    """Return the roles with other `names` of one client, or of the realm."""
    if client is None:
        return EffectiveRoles(tuple(sorted(names)), roles.clients)
    clients = {**dict(roles.clients), client: tuple(sorted(names))}
    kept = sorted((owner, held) for owner, held in clients.items() if held)
    return EffectiveRoles(roles.realm, tuple(kept))


ROLE_NAME: Final = RoleMapper("oidc-role-name-mapper", 10, _renamed)
HARDCODED_ROLE: Final = RoleMapper("oidc-hardcoded-role-mapper", 20, _hardcoded)
