"""Search for a part of a name without regard to case.

Databases lower ASCII letters alone, or those of their locale. So a statement searches for the
longest ASCII part of the text, and its rows are compared again with the whole text. It never
searches for more than one part: a pattern with many `%` takes a database very long.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import ColumnElement, Text, func, literal, type_coerce

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
