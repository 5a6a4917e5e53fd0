"""Mappers of roles: lists of roles in claims, and roles that are added or renamed.

Keycloak: 2.2 (roles), user realm role mapper, user client role mapper, hardcoded role mapper, role
name mapper
"""

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import FieldError
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims.mapper import (
    CLAIM_NAME,
    DEEPEST_CLAIM,
    EVERYWHERE,
    MULTIVALUED,
    AddClaims,
    ChangeRoles,
    ClaimMapper,
    MappedClaims,
    RoleMapper,
    WriteAt,
    split_claim_path,
    writer_at,
)
from gateway.protocol.claims.protocol_claims import RESERVED_CLAIMS, ROLES
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.refusals import describe


def parse_role(text: str) -> tuple[str | None, str]:
    """Return client and name of `client.name`; the client is None for a realm role."""
    client, dot, name = text.rpartition(".")
    return (client if dot else None, name)


def _hardcoded_role(mapper: ProtocolMapper) -> ChangeRoles | None:
    client, name = parse_role(mapper.config.get("role", ""))
    if not name:
        return None

    def change(roles: EffectiveRoles) -> EffectiveRoles:
        return _with_role(roles, client, {*_role_names(roles, client), name})

    return change


def _renamed_role(mapper: ProtocolMapper) -> ChangeRoles | None:
    client, name = parse_role(mapper.config.get("role", ""))
    new_client, new_name = parse_role(mapper.config.get("new.role.name", ""))
    if not name or not new_name:
        return None

    def change(roles: EffectiveRoles) -> EffectiveRoles:
        if name not in _role_names(roles, client):
            return roles
        others = _with_role(roles, client, {*_role_names(roles, client)} - {name})
        return _with_role(others, new_client, {*_role_names(others, new_client), new_name})

    return change


def _role_names(roles: EffectiveRoles, client: str | None) -> tuple[str, ...]:
    return roles.realm if client is None else dict(roles.clients).get(client, ())


def _with_role(roles: EffectiveRoles, client: str | None, names: set[str]) -> EffectiveRoles:
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


ROLE_NAME: Final = RoleMapper("oidc-role-name-mapper", 10, _renamed_role, _both_roles_error)
HARDCODED_ROLE: Final = RoleMapper("oidc-hardcoded-role-mapper", 20, _hardcoded_role, _role_error)


_OF_REALM: Final = ("realm_access", ROLES)
_OF_CLIENTS: Final = "resource_access"
_DEPTH_OF_CLIENTS: Final = 3
_PLACEHOLDER: Final = "${client_id}"
_STANDARD_PATHS: Final = (_OF_CLIENTS, _PLACEHOLDER, ROLES)
"""The path in nearly every realm: written without a further check."""
_CLIENT_OF_ROLES: Final = "usermodel.clientRoleMapping.clientId"
_CLIENT_PREFIX: Final = "usermodel.clientRoleMapping.rolePrefix"


def role_path(config: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the path of `claim.name`; None where roles may not be there."""
    path = split_claim_path(config.get(CLAIM_NAME, ""))
    if not 0 < len(path) <= DEEPEST_CLAIM:
        return None
    return path if path[0] not in RESERVED_CLAIMS or _is_role_list(path, config) else None


def _is_role_list(path: tuple[str, ...], config: Mapping[str, str]) -> bool:
    if config.get(MULTIVALUED) != "true":
        return False
    of_clients = len(path) == _DEPTH_OF_CLIENTS and path[0] == _OF_CLIENTS and path[-1] == ROLES
    return path == _OF_REALM or of_clients


def _realm_roles(mapper: ProtocolMapper) -> AddClaims | None:
    path = role_path(mapper.config)
    if path is None:
        return None
    write = _role_writer(mapper.config, path)
    prefix = mapper.config.get("usermodel.realmRoleMapping.rolePrefix", "")

    def add_claims(claims: MappedClaims, subject: TokenSubject) -> None:
        roles = subject.roles.realm
        if path == _OF_REALM and not prefix and not claims.realm_roles:
            claims.realm_roles = roles
        elif roles:
            write(path, claims, _prefixed(prefix, roles))

    return add_claims


def _client_roles(mapper: ProtocolMapper) -> AddClaims | None:
    path = role_path(mapper.config)
    if path is None:
        return None
    write = _role_writer(mapper.config, path)
    wanted, prefix = mapper.config.get(_CLIENT_OF_ROLES), mapper.config.get(_CLIENT_PREFIX, "")

    def add_claims(claims: MappedClaims, subject: TokenSubject) -> None:
        for client, roles in subject.roles.clients:
            if not wanted:
                before = prefix.replace(_PLACEHOLDER, client)
                write(_path_of(path, client), claims, _prefixed(before, roles))
            elif client == wanted:
                write(_path_of(path, client), claims, _prefixed(prefix, roles))

    def add_to_standard_path(claims: MappedClaims, subject: TokenSubject) -> None:
        if claims.client_roles:
            add_claims(claims, subject)
        else:
            claims.client_roles = dict(subject.roles.clients)

    return (
        add_to_standard_path
        if path == _STANDARD_PATHS and not prefix and not wanted
        else add_claims
    )


def _role_writer(config: Mapping[str, str], path: tuple[str, ...]) -> WriteAt:
    """Return the writer of roles at `path`, before `${client_id}` is substituted.

    Only these mappers write below `realm_access` and `resource_access`, and only role lists.
    Elsewhere `config` gives type and number. Keycloak: 2.2 (roles), user realm role mapper, user
    client role mapper
    """
    if path[0] == _OF_REALM[0]:
        return _write_realm_roles
    return _write_client_roles if path[0] == _OF_CLIENTS else writer_at(config)


def _write_realm_roles(_: tuple[str, ...], claims: MappedClaims, roles: Sequence[str]) -> None:
    claims.add_realm_roles(roles)


def _write_client_roles(path: tuple[str, ...], claims: MappedClaims, roles: Sequence[str]) -> None:
    claims.add_client_roles(path[1], roles)


def _path_of(path: tuple[str, ...], client: str) -> tuple[str, ...]:
    return tuple(part.replace(_PLACEHOLDER, client) for part in path)


def _prefixed(prefix: str, roles: Sequence[str]) -> Sequence[str]:
    return [f"{prefix}{name}" for name in roles] if prefix else roles


REALM_ROLES: Final = ClaimMapper(
    "oidc-usermodel-realm-role-mapper", EVERYWHERE, _realm_roles, late=True
)
CLIENT_ROLES: Final = ClaimMapper(
    "oidc-usermodel-client-role-mapper", EVERYWHERE, _client_roles, late=True
)
