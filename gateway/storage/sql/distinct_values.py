"""Reads which values of columns occur in a table, by one step in an index for each.

`SELECT DISTINCT` reads every row instead. PostgreSQL wiki: "Loose indexscan"
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CTE, Column, ColumnElement, ScalarSelect, func, select


def distinct_values(columns: Sequence[Column[Any]], *conditions: ColumnElement[bool]) -> CTE:
    """Return the combinations of values in the rows that meet the conditions.

    The columns are of one table, and an index of these rows has to begin with them in this order.
    For each combination of the values before there is one more, in which the last value is null.
    """
    found = _first_values(columns[0], conditions)
    for known in range(1, len(columns)):
        found = _combined(found, columns[:known], columns[known], conditions)
    return found


def _first_values(column: Column[Any], conditions: Sequence[ColumnElement[bool]]) -> CTE:
    least = select(func.min(column)).where(*conditions)
    values = select(least.scalar_subquery().label(column.name))
    each = values.cte(f"each_{column.name}", recursive=True)
    greater = least.where(column > each.c[column.name])
    return each.union_all(
        select(greater.correlate(each).scalar_subquery()).where(each.c[column.name].is_not(None))
    )


def _combined(
    found: CTE,
    known: Sequence[Column[Any]],
    column: Column[Any],
    conditions: Sequence[ColumnElement[bool]],
) -> CTE:
    """Return each combination with every value of one more column."""

    def least(of: CTE, *further: ColumnElement[bool]) -> ScalarSelect[Any]:
        same = (each == of.c[each.name] for each in known)
        query = select(func.min(column)).where(*same, *further, *conditions)
        return query.correlate(of).scalar_subquery()

    values = select(*found.c, least(found).label(column.name))
    values = values.where(found.c[known[-1].name].is_not(None))
    each = values.cte(f"each_{column.name}", recursive=True)
    greater = least(each, column > each.c[column.name])
    return each.union_all(
        select(*(each.c[one.name] for one in known), greater).where(
            each.c[column.name].is_not(None)
        )
    )
