"""Queries on the driver's own connection: compiled once by SQLAlchemy, executed without it.

Its execution costs many times what the database needs for one row (decision 0008).
"""

import hashlib
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from sqlalchemy import ClauseElement, Dialect, Select
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate
from sqlalchemy.types import TypeEngine

from gateway.storage.sql.column_types import Document, Instant, Name, checked_name

Values = tuple[Any, ...]


class PreparedStatement:
    """A statement with named parameters, for a dialect whose parameters have positions."""

    def __init__(
        self, statement: ClauseElement, dialect: Dialect, columns: Sequence[str] | None = None
    ) -> None:
        """Take the columns whose values an INSERT is given."""
        keys = None if columns is None else list(columns)
        compiled: Any = statement.compile(dialect=dialect, column_keys=keys)
        self.text = str(compiled)
        writers = {
            name: _writer(parameter.type, dialect) for name, parameter in compiled.binds.items()
        }
        self._places = tuple((name, writers[name]) for name in compiled.positiontup or ())

    def arguments(self, **given: Any) -> Values:
        """Return the parameters in the order of the statement, as the driver takes them."""
        return tuple(
            [given[name] if write is None else write(given[name]) for name, write in self._places]
        )


def _writer(kind: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    """Return what turns a value into the driver's; most are names, of which a check is enough."""
    if isinstance(kind, Name):
        return checked_name
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _reader(kind: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    """Return what turns the driver's value into ours; a name is the driver's text."""
    if isinstance(kind, Name):
        return None
    reader = kind.dialect_impl(dialect).result_processor(dialect, None)
    if isinstance(kind, Document | Instant) and reader is not None:
        return partial(kind.process_result_value, dialect=dialect)  # without a way around
    return reader


class PreparedQuery(PreparedStatement):
    """A statement with rows."""

    def __init__(
        self,
        statement: Select[Any] | ReturningUpdate[Any] | ReturningInsert[Any],
        dialect: Dialect,
    ) -> None:
        super().__init__(statement, dialect)
        columns = statement.exported_columns
        self._row: Any = namedtuple("Row", [column.key for column in columns])  # type: ignore[misc] # noqa: PYI024 - its fields are those of the statement
        readers = [_reader(column.type, dialect) for column in columns]
        self._readers = [
            (place, reader) for place, reader in enumerate(readers) if reader is not None
        ]

    def parse_row(self, values: Values) -> Any:
        """Return a row with the names and types of the statement's columns."""
        converted = list(values)
        for place, reader in self._readers:
            converted[place] = reader(converted[place])
        return self._row._make(converted)


class FixedQuery:
    """A query of transactions that differs in its parameters alone: compiled once for a dialect."""

    def __init__(self, statement: Select[Any]) -> None:
        self.statement = statement
        self._prepared: dict[str, PreparedQuery] = {}

    def prepared(self, dialect: Dialect) -> PreparedQuery:
        found = self._prepared.get(dialect.name)
        if found is None:
            found = self._prepared[dialect.name] = PreparedQuery(self.statement, dialect)
        return found


class QueryExecutor(Protocol):
    """Executes prepared queries in one database, each in a transaction of its own."""

    async def execute(self, query: PreparedQuery, arguments: Values) -> Sequence[Values]:
        """Return the rows; raises StoreUnavailable."""

    async def dispose(self) -> None:
        """Close the connections."""


def row_digest(values: Values) -> bytes:
    """Return a digest that is equal for equal rows only."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()
