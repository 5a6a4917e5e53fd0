"""Roles that a realm file names: those of new users in old files, and those that nothing defines.

Until version 13 a file lists the roles of new users in `defaultRoles` of the realm and of its
clients; a file that has a `defaultRole` says it there. A role that users, groups, scopes or these
lists name, and that the file does not define, is created without a description.
Keycloak: realm import (defaultRoles; role mappings of users and groups, scope mappings)
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from gateway.admin.access import RoleIndex
from gateway.admin.realm_files.files import embedded
from gateway.domain.errors import FieldError
from gateway.representations.clients import given_field
from gateway.representations.groups import GroupInput
from gateway.representations.refusals import attempt, join, raise_all
from gateway.representations.roles import RoleInput, RoleName, parse_role_names

_DEFAULT_ROLES: Final = "defaultRoles"
PROTECTION: Final = "uma_protection"
"""The role of the service account of a client with authorization services."""


def parse_default_roles(document: Mapping[str, Any], path: str) -> tuple[RoleName, ...]:
    """Return the roles that old files give to new users; raises InvalidInput."""
    if given_field(document, "defaultRole") is not None:
        return ()
    nothing, errors = ("", None), list[FieldError]()
    at = join(path, _DEFAULT_ROLES)
    names = attempt(errors, (), parse_role_names, (at, document.get(_DEFAULT_ROLES)), nothing)
    for place, client in embedded(document, "clients", path):
        listed = client.get(_DEFAULT_ROLES)
        if listed is not None:
            of_client = (place, {str(given_field(client, "clientId")): listed})
            names += attempt(errors, (), parse_role_names, nothing, of_client)
    raise_all(errors)
    return tuple(dict.fromkeys(names))


def roles_of_groups(groups: Iterable[GroupInput]) -> Iterable[RoleName]:
    """Yield the roles of all groups of the trees."""
    for group in groups:
        yield from group.roles
        yield from roles_of_groups(group.children)


def protection_roles(document: Mapping[str, Any], path: str) -> tuple[RoleName, ...]:
    """Return the role of each client that has authorization services."""
    return tuple(
        RoleName(PROTECTION, str(given_field(client, "clientId")))
        for _, client in embedded(document, "clients", path)
        if given_field(client, "authorizationServicesEnabled") is True
        and given_field(client, "serviceAccountsEnabled") is True
    )


def missing_roles(index: RoleIndex, names: Iterable[RoleName]) -> tuple[RoleInput, ...]:
    """Return the roles to create; those of unknown clients are left to the readers of names."""
    return tuple(
        RoleInput(name, None, (), "roles")
        for name in dict.fromkeys(names)
        if index.role(name) is None and index.has_client(name.client)
    )
