"""A question: a SELECT that is compiled once and asked on the driver's own connection.

SQLAlchemy writes the statement and reads the columns; what lies between, its sessions with a
thread or a server, costs many times what the database needs for one row, and is left out.
"""

import hashlib
from collections import namedtuple
from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import Dialect, Select

Values = tuple[Any, ...]


class Question:
    """A SELECT with named parameters, for one dialect whose parameters have positions."""

    def __init__(self, statement: Select[Any], dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text = str(compiled)
        self._names = tuple(compiled.positiontup or ())
        self._constants = compiled.params
        columns = statement.selected_columns
        self._row: Any = namedtuple("Row", [column.key for column in columns])  # type: ignore[misc] # noqa: PYI024 - its fields are those of the statement
        self._readers = [
            column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns
        ]

    def arguments(self, **given: str) -> Values:
        """Return the parameters in the order of the statement."""
        known = self._constants | given
        return tuple(known[name] for name in self._names)

    def read(self, values: Values) -> Any:
        """Return a row with the names and types of the statement's columns."""
        return self._row._make(
            value if reader is None else reader(value)
            for reader, value in zip(self._readers, values, strict=True)
        )


class Questioner(Protocol):
    """Asks questions of one database."""

    async def ask(self, question: Question, arguments: Values) -> Sequence[Values]:
        """Return the rows; raises StoreUnavailable."""
        ...

    async def dispose(self) -> None:
        """Close the connections."""
        ...


def mark_of(values: Values) -> bytes:
    """Return what two equal rows have in common, and no others."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()
