"""Which groups count for a user: those it is a member of, and the parents of these."""

from typing import Any

from sqlalchemy import CTE, ColumnElement, Select, and_, select

from gateway.storage.sql.schema import group_members, groups

Given = str | ColumnElement[str]
"""A value, or the expression of a statement that yields it."""


def groups_of(realm_id: Given, user_id: Given, name: str = "lineage") -> CTE:
    """Select the groups of a user and their parents; a statement uses each `name` once."""
    joined = select(group_members.c.group_id).where(
        group_members.c.realm_id == realm_id, group_members.c.user_id == user_id
    )
    return with_parents(realm_id, joined, name)


def groups_above(realm_id: Given, group_id: Given) -> CTE:
    """Select a group and its parents, all the way up."""
    itself = select(groups.c.id.label("group_id")).where(
        groups.c.realm_id == realm_id, groups.c.id == group_id
    )
    return with_parents(realm_id, itself)


def with_parents(realm_id: Given, begun: Select[Any], name: str = "lineage") -> CTE:
    """Select the groups that `begun` selects and their parents; UNION ends cycles.

    The column is `group_id`, after `owner` where `begun` has that column.
    """
    lineage = begun.cte(name, recursive=True)
    owner = [lineage.c.owner] if "owner" in lineage.c else []
    is_child = and_(groups.c.id == lineage.c.group_id, groups.c.realm_id == realm_id)
    parents = select(*owner, groups.c.parent).join_from(lineage, groups, is_child)
    return lineage.union(parents.where(groups.c.parent.is_not(None)))
