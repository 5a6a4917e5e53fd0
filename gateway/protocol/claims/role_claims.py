"""Lists of roles as claims: where they stand, with which prefix, and of which type.

Below `realm_access` and `resource_access` role mappers alone may write, and only to the places
where Keycloak's role lists stand. Keycloak: 2.2 (roles), user realm and client role mappers
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from gateway.protocol.claims.claim_paths import (
    CLAIM_NAME,
    DEEPEST_CLAIM,
    MULTIVALUED,
    RESERVED_CLAIMS,
    put,
    put_among,
    split_claim_path,
)
from gateway.protocol.claims.json_types import UNMAPPABLE, read_all, reader_of

_OF_REALM: Final = ("realm_access", "roles")
_OF_CLIENTS: Final = "resource_access"
_ROLES: Final = "roles"
_DEPTH_OF_CLIENTS: Final = 3

WriteRoles = Callable[[dict[str, Any], tuple[str, ...], Sequence[str]], None]
"""Writes names of roles at a path."""


def role_path(config: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the path of `claim.name`; None where roles may not stand there."""
    path = split_claim_path(config.get(CLAIM_NAME, ""))
    if not 0 < len(path) <= DEEPEST_CLAIM:
        return None
    return path if path[0] not in RESERVED_CLAIMS or _is_role_list(path, config) else None


def _is_role_list(path: tuple[str, ...], config: Mapping[str, str]) -> bool:
    if config.get(MULTIVALUED) != "true":
        return False
    of_clients = len(path) == _DEPTH_OF_CLIENTS and path[0] == _OF_CLIENTS and path[-1] == _ROLES
    return path == _OF_REALM or of_clients


def roles_writer(config: Mapping[str, str]) -> WriteRoles:
    """Return what writes roles as `config` says: of which type, one or all of them."""
    read = reader_of(config)
    if config.get(MULTIVALUED) == "true":

        def write_all(claims: dict[str, Any], path: tuple[str, ...], roles: Sequence[str]) -> None:
            put_among(claims, path, read_all(read, roles))

        return write_all

    def write_first(claims: dict[str, Any], path: tuple[str, ...], roles: Sequence[str]) -> None:
        value = read(roles[0]) if roles else UNMAPPABLE
        if value is not UNMAPPABLE:
            put(claims, path, value)

    return write_first


def are_texts(config: Mapping[str, str]) -> bool:
    """Tell whether roles are written as they are called."""
    return reader_of(config) is str


def prefixed(prefix: str, roles: Sequence[str]) -> Sequence[str]:
    """Return the names with a text before each."""
    return [f"{prefix}{name}" for name in roles] if prefix else roles
