"""Mappers that change roles: add one to every token, or rename one.

Keycloak: hardcoded role mapper, role name mapper
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import FieldError
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims.mapper import ChangeRoles, RoleMapper
from gateway.representations.protocol_mapper_types import MapperType
from gateway.representations.provider_properties import Property
from gateway.representations.refusals import describe


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


def _role_error(config: Mapping[str, str]) -> FieldError | None:
    return _named_role_error(config, "role")


def _both_roles_error(config: Mapping[str, str]) -> FieldError | None:
    return _role_error(config) or _named_role_error(config, "new.role.name")


def _named_role_error(config: Mapping[str, str], option: str) -> FieldError | None:
    text = config.get(option, "")
    if parse_role(text)[1]:
        return None
    return FieldError(f"config.{option}", describe(text), "a role, as name or client.name")


_ROLE: Final = Property("role", "Role", "A role of the realm, or client.role")
ROLE_NAME: Final = RoleMapper(
    "oidc-role-name-mapper",
    10,
    _renamed,
    MapperType(
        "Role Name Mapper",
        "Calls a role by another name",
        (_ROLE, Property("new.role.name", "New Role Name", "The other name")),
        priority=10,
    ),
    _both_roles_error,
)
HARDCODED_ROLE: Final = RoleMapper(
    "oidc-hardcoded-role-mapper",
    20,
    _hardcoded,
    MapperType("Hardcoded Role", "Adds a role that the user need not have", (_ROLE,), priority=20),
    _role_error,
)
