"""SQLite's connection for SQLAlchemy: one switch to its thread for each statement.

aiosqlite switches for the cursor, the execution, the rows, and the end of the cursor, and BEGIN is
a statement of its own; a switch takes longer than most statements.
"""

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Self

import aiosqlite

_UNUSED_CHUNK: Final = 64
"""Rows at once of cursors that are not used here."""


class _Result(NamedTuple):
    description: Any
    rowcount: int
    lastrowid: int | None
    rows: list[Any]


_NO_RESULT: Final = _Result(None, -1, None, [])


class SqliteConnection(aiosqlite.Connection):
    """A connection that begins a transaction together with its first statement.

    A `read_only` one does not wait for the end of a transaction: there is nothing to lose.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection], *, read_only: bool) -> None:
        super().__init__(connector, _UNUSED_CHUNK)
        # The connection of a cancelled task must not keep the process from ending.
        self._thread.daemon = True
        self._read_only = read_only
        self._beginning: str | None = None
        self._in_transaction = False

    def begin_with(self, statement: str) -> None:
        """Begin a transaction by `statement` when the next one is executed."""
        self._beginning = statement

    def cursor(self) -> "_Cursor":  # type: ignore[override] # what SQLAlchemy needs of one
        return _Cursor(self)

    async def commit(self) -> None:
        self._beginning = None
        if self._in_transaction:
            await super().commit()
            self._in_transaction = False

    async def rollback(self) -> None:
        self._beginning = None
        if self._in_transaction and self._read_only:
            self._tx.put_nowait((None, self._conn.rollback))
        elif self._in_transaction:
            await super().rollback()
        self._in_transaction = False

    async def run(self, method: str, text: str, parameters: Any) -> _Result:
        """Call a method of a new cursor in the thread; return all that is known of its result."""
        beginning, self._beginning = self._beginning, None
        self._in_transaction = self._in_transaction or beginning is not None
        work = partial(_run, self._conn, beginning, method, text, parameters)
        result: _Result = await self._execute(work)  # type: ignore[no-untyped-call] # the library
        return result


class _Cursor:
    """The result of one statement, with all its rows."""

    arraysize = 1

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._result = _NO_RESULT

    async def __aenter__(self) -> Self:
        return self

    @property
    def description(self) -> Any:
        return self._result.description

    @property
    def rowcount(self) -> int:
        return self._result.rowcount

    @property
    def lastrowid(self) -> int | None:
        return self._result.lastrowid

    async def execute(self, text: str, parameters: Any = ()) -> None:
        self._result = await self._connection.run("execute", text, parameters)

    async def executemany(self, text: str, parameters: Any) -> None:
        self._result = await self._connection.run("executemany", text, parameters)

    async def fetchall(self) -> Sequence[Any]:
        return self._result.rows

    async def close(self) -> None:
        """Do nothing: the cursor in the thread is closed already."""


def _run(
    connection: sqlite3.Connection, beginning: str | None, method: str, text: str, parameters: Any
) -> _Result:
    if beginning is not None:
        connection.execute(beginning)
    cursor = connection.cursor()
    try:
        getattr(cursor, method)(text, parameters)
        rows = cursor.fetchall()
        return _Result(cursor.description, cursor.rowcount, cursor.lastrowid, rows)
    finally:
        cursor.close()
