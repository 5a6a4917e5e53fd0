"""Which roles somebody has in the end: composites are followed to the end, circles do no harm.

A user has what is granted to it, to its groups and to their parents. Keycloak: role mappings
"""

from sqlalchemy import CTE, Select, and_, select, union

from gateway.storage.sql.schema import group_roles, role_composites, user_roles
from gateway.storage.sql.users import Given, groups_above, groups_of


def held_by_user(realm_id: Given, user_id: Given) -> CTE:
    """Select the column `role_id` of what a user has."""
    of_user = select(user_roles.c.role_id).where(
        user_roles.c.realm_id == realm_id, user_roles.c.user_id == user_id
    )
    granted = union(of_user, _of_groups(realm_id, groups_of(realm_id, user_id))).subquery()
    return closure(realm_id, select(granted.c.role_id))


def held_by_group(realm_id: Given, group_id: Given) -> CTE:
    """Select the column `role_id` of what members of a group have by it."""
    granted = _of_groups(realm_id, groups_above(realm_id, group_id)).subquery()
    return closure(realm_id, select(granted.c.role_id))


def closure(realm_id: Given, begun: Select[tuple[str]]) -> CTE:
    """Select the column `role_id` of the roles that `begun` selects, and of all they contain."""
    held = begun.cte("held", recursive=True)
    contained = select(role_composites.c.composite_id).join(
        held,
        and_(
            role_composites.c.role_id == held.c.role_id,
            role_composites.c.realm_id == realm_id,
        ),
    )
    return held.union(contained)


def containers(realm_id: Given, begun: Select[tuple[str]]) -> CTE:
    """Select the column `role_id` of the roles that `begun` selects, and of what contains them."""
    parts = begun.cte("parts", recursive=True)
    containing = select(role_composites.c.role_id).join(
        parts,
        and_(
            role_composites.c.composite_id == parts.c.role_id,
            role_composites.c.realm_id == realm_id,
        ),
    )
    return parts.union(containing)


def _of_groups(realm_id: Given, lineage: CTE) -> Select[tuple[str]]:
    return select(group_roles.c.role_id).join(
        lineage,
        and_(group_roles.c.group_id == lineage.c.group_id, group_roles.c.realm_id == realm_id),
    )
