"""JSON of roles."""

from gateway.representations.roles.answers import (
    RoleReference,
    mappings_answer,
    read_role,
    read_role_references,
    role_answer,
)
from gateway.representations.roles.default_role import DefaultRole
from gateway.representations.roles.role import (
    GivenRole,
    RoleName,
    read_role_names,
    read_roles,
    write_role,
)
