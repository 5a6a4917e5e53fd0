"""JSON of roles."""

from gateway.representations.roles.answers import (
    RoleReference,
    mappings_answer,
    read_role,
    read_role_references,
    role_answer,
)
from gateway.representations.roles.role import (
    DefaultRole,
    GivenRole,
    RoleName,
    read_role_names,
    read_roles,
    role_members,
    write_role,
)
