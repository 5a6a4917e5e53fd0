"""The administrative use cases of roles, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.roles.administration import RoleAdministration
from gateway.admin.roles.mapping import RoleMapping
from gateway.admin.roles.members import RoleMembers


@dataclass(frozen=True, slots=True)
class RoleUseCases:
    """Every use case of roles."""

    administration: RoleAdministration
    members: RoleMembers
    mapping: RoleMapping
