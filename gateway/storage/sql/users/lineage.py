"""Which groups count for a user: those it is a member of, and the parents of these."""

from sqlalchemy import CTE, ColumnElement, Select, and_, select

from gateway.storage.sql.schema import group_members, groups

Given = str | ColumnElement[str]
"""A value, or what stands for it in a statement."""


def groups_of(realm_id: Given, user_id: Given, name: str = "lineage") -> CTE:
    """Select the column `group_id`; UNION ends circles. One `name` stands once in a statement."""
    joined = select(group_members.c.group_id).where(
        group_members.c.realm_id == realm_id, group_members.c.user_id == user_id
    )
    return _with_parents(realm_id, joined, name)


def groups_above(realm_id: Given, group_id: Given, name: str = "lineage") -> CTE:
    """Select the column `group_id` of a group and of its parents, all the way up."""
    itself = select(groups.c.id.label("group_id")).where(
        groups.c.realm_id == realm_id, groups.c.id == group_id
    )
    return _with_parents(realm_id, itself, name)


def _with_parents(realm_id: Given, begun: Select[tuple[str]], name: str) -> CTE:
    lineage = begun.cte(name, recursive=True)
    parents = select(groups.c.parent).join(
        lineage, and_(groups.c.id == lineage.c.group_id, groups.c.realm_id == realm_id)
    )
    return lineage.union(parents.where(groups.c.parent.is_not(None)))
