"""The operations about roles and groups, and about who has which. Keycloak: 7.2, 7.3."""

from gateway.admin.changes import Changes
from gateway.admin.group_administration import GroupAdministration
from gateway.admin.group_listing import GroupListing
from gateway.admin.role_administration import RoleAdministration
from gateway.admin.role_mapping import RoleMapping
from gateway.admin.role_members import RoleMembers
from gateway.domain.ports.storage import Database
from gateway.http.admin import role_mappings, roles
from gateway.http.admin.groups import GroupsHandlers, group_operations
from gateway.http.admin.operations import Operation


def role_operations(database: Database, changes: Changes) -> tuple[Operation, ...]:
    """Return the rows."""
    administration = RoleAdministration(database, changes)
    mapping = RoleMapping(database, changes)
    return (
        *roles.operations(roles.RolesHandlers(administration, RoleMembers(database))),
        *group_operations(GroupsHandlers(GroupListing(database), GroupAdministration(changes))),
        *role_mappings.operations(role_mappings.RoleMappingsHandlers(mapping)),
    )
