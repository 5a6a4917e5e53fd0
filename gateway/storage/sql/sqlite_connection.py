"""SQLite's connection for SQLAlchemy: one switch to its thread for each statement, or fewer.

aiosqlite switches for the cursor, the execution, the rows, and the end of the cursor, and BEGIN is
a statement of its own; a switch takes longer than most statements. So statements go together where
their order allows it: inserts whose failure may come later wait for the next statement or for
COMMIT, and queries that are known beforehand go with the one before them.
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
_Query = tuple[str, Any]
"""Text and parameters."""


class DeferredInsert(NamedTuple):
    """Rows of one table; `failure` turns an error of the driver into the exception to raise."""

    text: str
    rows: Sequence[Any]
    failure: Callable[[sqlite3.Error], Exception]


class _Due(NamedTuple):
    """What goes before the next statement: BEGIN, and inserts that waited for it."""

    beginning: str | None
    inserts: Sequence[DeferredInsert]


class SqliteConnection(aiosqlite.Connection):
    """A connection that begins a transaction, by `begin`, together with its first statement.

    A `read_only` one does not wait for the end of a transaction: there is nothing to lose.
    """

    def __init__(
        self, connector: Callable[[], sqlite3.Connection], *, begin: str, read_only: bool
    ) -> None:
        super().__init__(connector, _UNUSED_CHUNK)
        # The connection of a cancelled task must not keep the process from ending.
        self._thread.daemon = True
        self._begin = begin
        self._read_only = read_only
        self._beginning: str | None = None
        self._in_transaction = False
        self._deferred: list[DeferredInsert] = []
        self._ahead: dict[_Query, None] = {}
        self._known: dict[_Query, list[Any]] = {}

    def begin(self) -> None:
        """Begin a transaction when the next statement is executed, unless one has begun."""
        if not self._in_transaction:
            self._beginning = self._begin

    def cursor(self) -> "_Cursor":  # type: ignore[override] # what SQLAlchemy needs of one
        return _Cursor(self)

    async def commit(self) -> None:
        """Execute deferred inserts and commit, in one switch; a failure rolls all back."""
        if self._in_transaction or self._deferred:
            due, self._in_transaction = self._due(), False
            await self._execute(partial(_commit, self._conn, due))  # type: ignore[no-untyped-call] # the library
        self._beginning = None
        self._forget()

    async def rollback(self) -> None:
        self._beginning = None
        self._forget()
        if self._in_transaction and self._read_only:
            self._tx.put_nowait((None, self._conn.rollback))
        elif self._in_transaction:
            await super().rollback()
        self._in_transaction = False

    def defer(self, insert: DeferredInsert) -> None:
        """Execute an insert before the next statement; at the latest, before COMMIT."""
        self._known.clear()
        self._deferred.append(insert)

    def read_ahead(self, text: str, parameters: Any) -> None:
        """Execute a query together with the next statement, for `fetch` of the transaction."""
        self._ahead[text, parameters] = None

    async def fetch(self, text: str, parameters: Any) -> list[Any]:
        """Return the rows of a query, those of `read_ahead` if nothing was written since."""
        known = self._known.get((text, parameters))
        if known is not None:
            return known
        ahead, self._ahead = self._ahead, {}
        queries = [(text, parameters), *ahead]
        self._in_transaction = self._in_transaction or self._beginning is not None
        work = partial(_fetch, self._conn, self._due(), queries)
        found: list[list[Any]] = await self._execute(work)  # type: ignore[no-untyped-call] # the library
        self._known.update(zip(ahead, found[1:], strict=True))
        return found[0]

    async def run(self, method: str, text: str, parameters: Any) -> _Result:
        """Call a method of a new cursor in the thread; return all that is known of its result."""
        self._known.clear()
        self._in_transaction = self._in_transaction or self._beginning is not None
        work = partial(_run, self._conn, self._due(), method, text, parameters)
        result: _Result = await self._execute(work)  # type: ignore[no-untyped-call] # the library
        return result

    def _due(self) -> _Due:
        due = _Due(self._beginning, self._deferred)
        self._beginning, self._deferred = None, []
        return due

    def _forget(self) -> None:
        self._deferred.clear()
        self._ahead.clear()
        self._known.clear()


class _Cursor:
    """The result of one statement, with all its rows."""

    arraysize = 1

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self.description, self.rowcount, self.lastrowid, self._rows = _NO_RESULT

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, text: str, parameters: Any = (), method: str = "execute") -> None:
        result = await self._connection.run(method, text, parameters)
        self.description, self.rowcount, self.lastrowid, self._rows = result

    async def executemany(self, text: str, parameters: Any) -> None:
        await self.execute(text, parameters, "executemany")

    async def fetchall(self) -> Sequence[Any]:
        return self._rows

    async def close(self) -> None:
        """Do nothing: the cursor in the thread is closed already."""


def _run(
    connection: sqlite3.Connection, due: _Due, method: str, text: str, parameters: Any
) -> _Result:
    _prepare(connection, due)
    cursor = connection.cursor()
    try:
        getattr(cursor, method)(text, parameters)
        rows = cursor.fetchall()
        return _Result(cursor.description, cursor.rowcount, cursor.lastrowid, rows)
    finally:
        cursor.close()


def _fetch(connection: sqlite3.Connection, due: _Due, queries: Sequence[_Query]) -> list[list[Any]]:
    _prepare(connection, due)
    return [connection.execute(*query).fetchall() for query in queries]


def _commit(connection: sqlite3.Connection, due: _Due) -> None:
    try:
        _prepare(connection, due)
        connection.commit()
    finally:
        if connection.in_transaction:
            connection.rollback()


def _prepare(connection: sqlite3.Connection, due: _Due) -> None:
    if due.beginning is not None:
        connection.execute(due.beginning)
    for insert in due.inserts:
        try:
            connection.executemany(insert.text, insert.rows)
        except sqlite3.Error as error:
            raise insert.failure(error) from error
