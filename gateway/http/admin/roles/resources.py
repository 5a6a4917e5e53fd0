"""Every row of the table about roles, and about who has which. Keycloak: 7.2, 7.3."""

from gateway.admin.groups import GroupUseCases
from gateway.admin.roles import RoleUseCases
from gateway.http.admin.groups import GroupsHandlers, group_operations
from gateway.http.admin.operations import Operation
from gateway.http.admin.roles import handlers as roles
from gateway.http.admin.roles import mappings as role_mappings


def role_operations(use_cases: RoleUseCases, groups: GroupUseCases) -> tuple[Operation, ...]:
    """Return the rows of roles and groups."""
    handlers = roles.RolesHandlers(use_cases.administration, use_cases.members)
    return (
        *roles.operations(handlers),
        *group_operations(GroupsHandlers(groups.listing, groups.administration)),
        *role_mappings.operations(role_mappings.RoleMappingsHandlers(use_cases.mapping)),
    )
