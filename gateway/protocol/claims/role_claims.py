"""Lists of roles as claims: where they stand, with which prefix, and of which type.

Below `realm_access` and `resource_access` role mappers alone may write, and only to the places
where Keycloak's role lists stand. Keycloak: 2.2 (roles), user realm and client role mappers
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gateway.protocol.claims.claim_paths import (
    CLAIM_NAME,
    DEEPEST_CLAIM,
    MULTIVALUED,
    split_claim_path,
)
from gateway.protocol.claims.json_types import UNMAPPABLE, read_all, reader_of
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.protocol_claims import RESERVED_CLAIMS, ROLES

_OF_REALM: Final = ("realm_access", ROLES)
_OF_CLIENTS: Final = "resource_access"
_DEPTH_OF_CLIENTS: Final = 3

WriteRoles = Callable[[MappedClaims, tuple[str, ...], Sequence[str]], None]
"""Writes names of roles at a path in which nothing is left to substitute."""


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


def roles_writer(config: Mapping[str, str], path: tuple[str, ...]) -> WriteRoles:
    """Return what writes roles at `path`, the path of `claim.name` before any substitution.

    Only a path that names a list of roles itself leads there. Those lists hold names; elsewhere
    `config` says of which type roles are, and whether one or all of them are written.
    """
    if path[0] == _OF_REALM[0]:
        return _write_realm_roles
    if path[0] == _OF_CLIENTS:
        return _write_client_roles
    read = reader_of(config)
    if config.get(MULTIVALUED) == "true":

        def write_all(claims: MappedClaims, path: tuple[str, ...], roles: Sequence[str]) -> None:
            claims.put_among(path, read_all(read, roles))

        return write_all

    def write_first(claims: MappedClaims, path: tuple[str, ...], roles: Sequence[str]) -> None:
        value = read(roles[0]) if roles else UNMAPPABLE
        if value is not UNMAPPABLE:
            claims.put(path, value)

    return write_first


def _write_realm_roles(claims: MappedClaims, _: tuple[str, ...], roles: Sequence[str]) -> None:
    claims.add_realm_roles(roles)


def _write_client_roles(claims: MappedClaims, path: tuple[str, ...], roles: Sequence[str]) -> None:
    claims.add_client_roles(path[1], roles)


def prefixed(prefix: str, roles: Sequence[str]) -> Sequence[str]:
    """Return the names with a text before each."""
    return [f"{prefix}{name}" for name in roles] if prefix else roles
