"""Roles: finding and changing them, and who has them."""

from dataclasses import dataclass

from gateway.admin.roles.administration import (
    MANAGE_CLIENT_ROLES,
    MANAGE_REALM_ROLES,
    VIEW_CLIENT_ROLES,
    VIEW_REALM_ROLES,
    RoleAddress,
    RoleAdministration,
)
from gateway.admin.roles.listing import RoleListing, read_references
from gateway.admin.roles.mapping import MappedRoles, RoleMapping, RoleMembers


@dataclass(frozen=True, slots=True)
class RoleUseCases:
    """Every use case of roles."""

    administration: RoleAdministration
    members: RoleMembers
    mapping: RoleMapping
