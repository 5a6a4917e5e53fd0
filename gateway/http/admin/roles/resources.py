"""The operations about roles and groups, and about who has which. Keycloak: 7.2, 7.3."""

from gateway.admin.access import Changes
from gateway.admin.groups import GroupAdministration, GroupListing
from gateway.admin.roles import RoleAdministration, RoleMapping, RoleMembers
from gateway.domain.ports.storage import Database
from gateway.http.admin.groups import GroupsHandlers, group_operations
from gateway.http.admin.operations import Operation
from gateway.http.admin.roles import handlers as roles
from gateway.http.admin.roles import mappings as role_mappings


def role_operations(database: Database, changes: Changes) -> tuple[Operation, ...]:
    """Return the rows."""
    administration = RoleAdministration(database, changes)
    mapping = RoleMapping(database, changes)
    return (
        *roles.operations(roles.RolesHandlers(administration, RoleMembers(database))),
        *group_operations(GroupsHandlers(GroupListing(database), GroupAdministration(changes))),
        *role_mappings.operations(role_mappings.RoleMappingsHandlers(mapping)),
    )
