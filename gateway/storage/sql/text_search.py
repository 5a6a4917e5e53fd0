"""Finding a part of a name, capitals make no difference.

Databases know capitals of ASCII alone, or those of their locale. So a statement asks for the
longest part of the text that is ASCII, and what it finds is compared again, with the whole text.
Never for more than one part: a pattern of many `%` takes a database very long.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import ColumnElement, Text, func, literal, type_coerce

_ESCAPE: Final = "/"
_ASCII: Final = re.compile("[\x01-\x7f]*")


def may_contain(column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    """Return the condition that the column contains `text`, or what looks like it."""
    longest = max(_ASCII.findall(text.lower()), key=len)
    for character in (_ESCAPE, "%", "_"):
        longest = longest.replace(character, _ESCAPE + character)
    # Not of the column's type: a pattern may be longer than what it stands for.
    pattern = literal(f"%{longest}%", Text)
    return func.lower(type_coerce(column, Text)).like(pattern, escape=_ESCAPE)


def contains(values: Iterable[str | None], text: str) -> bool:
    """Return whether one of the values does contain `text`."""
    part = text.lower()
    return any(value is not None and part in value.lower() for value in values)
