"""Search for a part of a name without regard to case, and the distinct values of indexed columns.

Databases lower ASCII letters alone, or those of their locale. So a statement searches for the
longest ASCII part of the text, and its rows are compared again with the whole text. It never
searches for more than one part: a pattern with many `%` takes a database very long.

Distinct values take one step in an index each; `SELECT DISTINCT` reads every row instead.
PostgreSQL wiki: "Loose indexscan"
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import (
    CTE,
    Column,
    ColumnElement,
    ScalarSelect,
    Text,
    func,
    literal,
    select,
    type_coerce,
)

_ESCAPE: Final = "/"
_ASCII: Final = re.compile("[\x01-\x7f]*")


def may_contain(column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    """Return a condition that holds where the column contains `text`, and for some other rows."""
    longest = max(_ASCII.findall(text.lower()), key=len)
    return is_like(func.lower(type_coerce(column, Text)), f"%{escape(longest)}%")


def is_like(column: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
    """Return the condition that the column matches a pattern of LIKE."""
    # Not of the column's type: a pattern may be longer than the text.
    return column.like(literal(pattern, Text), escape=_ESCAPE)


def escape(text: str) -> str:
    """Return the pattern of LIKE that matches the text itself."""
    for character in (_ESCAPE, "%", "_"):
        text = text.replace(character, _ESCAPE + character)
    return text


def contains(values: Iterable[str | None], text: str) -> bool:
    """Return whether one of the values does contain `text`."""
    part = text.lower()
    return any(value is not None and part in value.lower() for value in values)


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
