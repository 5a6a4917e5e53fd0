"""The subject's realm and client roles, composites resolved, as lists in a claim.

Below `realm_access` and `resource_access` only these mappers write, and only to the places of
Keycloak's role lists. `${client_id}` in the claim's name and in the prefix stands for the client
whose roles follow. Keycloak: 2.2 (roles), user realm role mapper, user client role mapper
"""

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.claim_paths import (
    CLAIM_NAME,
    DEEPEST_CLAIM,
    MULTIVALUED,
    WriteAt,
    split_claim_path,
    writer_at,
)
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.protocol_claims import RESERVED_CLAIMS, ROLES
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.protocol_mapper_types import SEVERAL_VALUES, TYPED_CLAIM, MapperType
from gateway.representations.provider_properties import Property

_OF_REALM: Final = ("realm_access", ROLES)
_OF_CLIENTS: Final = "resource_access"
_DEPTH_OF_CLIENTS: Final = 3
_PLACEHOLDER: Final = "${client_id}"
_STANDARD: Final = (_OF_CLIENTS, _PLACEHOLDER, ROLES)
"""The path in nearly every realm: written without a further check."""
_REALM_PREFIX: Final = "usermodel.realmRoleMapping.rolePrefix"
_CLIENT: Final = "usermodel.clientRoleMapping.clientId"
_CLIENT_PREFIX: Final = "usermodel.clientRoleMapping.rolePrefix"


def role_path(config: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the path of `claim.name`; None where roles may not stand there."""
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
    write = _writer(mapper.config, path)
    prefix = mapper.config.get(_REALM_PREFIX, "")

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        if subject.roles.realm:
            write(path, claims, _prefixed(prefix, subject.roles.realm))

    return add


def _client_roles(mapper: ProtocolMapper) -> AddClaims | None:
    path = role_path(mapper.config)
    if path is None:
        return None
    write = _writer(mapper.config, path)
    wanted, prefix = mapper.config.get(_CLIENT), mapper.config.get(_CLIENT_PREFIX, "")

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        for client, roles in subject.roles.clients:
            if not wanted:
                before = prefix.replace(_PLACEHOLDER, client)
                write(_path_of(path, client), claims, _prefixed(before, roles))
            elif client == wanted:
                write(_path_of(path, client), claims, _prefixed(prefix, roles))

    def add_to_standard_path(claims: MappedClaims, subject: TokenSubject) -> None:
        if claims.client_roles:
            add(claims, subject)
        else:
            claims.client_roles = dict(subject.roles.clients)

    return add_to_standard_path if path == _STANDARD and not prefix and not wanted else add


def _writer(config: Mapping[str, str], path: tuple[str, ...]) -> WriteAt:
    """Return what writes roles at `path`, the path of `claim.name` before any substitution.

    Only a path that names a list of roles itself leads there. Those lists hold names; elsewhere
    `config` says of which type roles are, and whether one or all of them are written.
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
    "oidc-usermodel-realm-role-mapper",
    EVERYWHERE,
    _realm_roles,
    MapperType(
        "User Realm Role",
        "The user's roles of the realm",
        (
            Property("usermodel.realmRoleMapping.rolePrefix", "Realm Role prefix", "Before each"),
            SEVERAL_VALUES,
            *TYPED_CLAIM,
        ),
        priority=40,
    ),
    late=True,
)
CLIENT_ROLES: Final = ClaimMapper(
    "oidc-usermodel-client-role-mapper",
    EVERYWHERE,
    _client_roles,
    MapperType(
        "User Client Role",
        "The user's roles of clients",
        (
            Property("usermodel.clientRoleMapping.clientId", "Client ID", "One client, or all"),
            Property("usermodel.clientRoleMapping.rolePrefix", "Client Role prefix", "Before each"),
            SEVERAL_VALUES,
            *TYPED_CLAIM,
        ),
        priority=40,
    ),
    late=True,
)
