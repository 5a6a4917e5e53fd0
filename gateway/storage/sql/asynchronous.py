"""SQLAlchemy's engine and connections under asyncio, as far as the gateway uses them.

`sqlalchemy.ext.asyncio` 2.1 was tried in its place (measured 2026-11-22, one worker with its
supervisor after 400 tokens): 110.2 MB instead of 103.0, since it loads the ORM, which reaches the
limit of 110 MB; and a second cancellation during a rollback made it close the connection that is
kept here.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection, CursorResult, Dialect, Engine, Executable, Insert, create_engine
from sqlalchemy.util import greenlet_spawn

from gateway.storage.sql.prepared_query import FixedQuery, PreparedStatement, QueryExecutor
from gateway.storage.sql.sqlite_connection import DeferredInsert, SqliteConnection

Result = TypeVar("Result")
Rows = Sequence[Mapping[str, Any]]


class AsyncConnection:
    """One connection, or one transaction on it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.dialect = connection.dialect
        self._driver: SqliteConnection | None = None
        """Within a transaction of SQLite, once it has begun."""

    async def execute(
        self,
        statement: Executable,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> CursorResult[Any]:
        """Execute a statement; its rows have been read."""
        return await greenlet_spawn(self._connection.execute, statement, parameters)

    async def fetch(self, query: FixedQuery, given: Mapping[str, Any]) -> Sequence[Any]:
        """Return the rows of a query.

        On SQLite the statement goes to the driver: SQLAlchemy's execution takes several times as
        long as the query and the way to its thread.
        """
        driver = self._sqlite()
        if driver is None:
            return (await self.execute(query.statement, given)).all()
        prepared = query.prepared(self.dialect)
        rows = await driver.fetch(prepared.text, prepared.arguments(**given))
        return [prepared.parse_row(row) for row in rows]

    def read_ahead(self, query: FixedQuery, given: Mapping[str, Any]) -> None:
        """On SQLite, execute a query together with the next one, for a later `fetch` of it."""
        driver = self._sqlite()
        if driver is not None:
            prepared = query.prepared(self.dialect)
            driver.read_ahead(prepared.text, prepared.arguments(**given))

    async def insert_later(
        self,
        statement: Callable[[], Insert],
        prepared: Callable[[], PreparedStatement],
        rows: Rows,
        failure: Callable[[sqlite3.Error], Exception],
    ) -> None:
        """Insert rows; on SQLite with the next statement or COMMIT, which raises `failure`."""
        driver = self._sqlite()
        if driver is None:
            await self.execute(statement(), rows)
            return
        insert = prepared()
        arguments = [insert.arguments(**row) for row in rows]
        driver.defer(DeferredInsert(insert.text, arguments, failure))

    async def insert(
        self,
        statement: Callable[[], Insert],
        prepared: Callable[[], PreparedStatement],
        rows: Rows,
    ) -> None:
        """Insert rows with the same columns; on SQLite as `prepared` says, as for `fetch`."""
        driver = self._sqlite()
        if driver is None:
            await self.execute(statement(), rows)
            return
        insert = prepared()
        arguments = [insert.arguments(**row) for row in rows]
        if len(arguments) == 1:
            await driver.run("execute", insert.text, arguments[0])
        else:
            await driver.run("executemany", insert.text, arguments)

    def _sqlite(self) -> SqliteConnection | None:
        """Return the driver's connection within a transaction, None for another database."""
        if self._driver is not None or self.dialect.name != "sqlite":
            return self._driver
        self._driver = _sqlite_driver(self._connection)
        if self._driver is not None:
            self._driver.begin()
        return self._driver

    async def run_sync(self, work: Callable[[Connection], Result]) -> Result:
        """Run code for a connection without asyncio."""
        return await greenlet_spawn(work, self._connection)


class AsyncEngine:
    """Connections to one database, kept in a pool."""

    def __init__(self, engine: Engine) -> None:
        self.sync_engine = engine

    @property
    def dialect(self) -> Dialect:
        return self.sync_engine.dialect

    def execution_options(self, **options: Any) -> "AsyncEngine":
        """Return an engine on the same pool whose connections have these options."""
        return AsyncEngine(self.sync_engine.execution_options(**options))

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncConnection]:
        """Take a connection for the block; what is not committed is rolled back."""
        async with self._connected() as connection:
            yield AsyncConnection(connection)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction: committed when the block is left, undone by an exception."""
        async with self._connected() as connection:
            transaction = await greenlet_spawn(connection.begin)
            yield AsyncConnection(connection)
            # An exception does not get here: closing the connection rolls back.
            await greenlet_spawn(transaction.commit)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction as `begin`; on SQLite by the driver, at a fraction of the cost."""
        async with self._connected() as connection:
            driver = _sqlite_driver(connection)
            transaction = await greenlet_spawn(connection.begin) if driver is None else None
            yield AsyncConnection(connection)
            # An exception does not get here: closing the connection rolls back.
            if driver is not None:
                await driver.commit()
            elif transaction is not None:
                await greenlet_spawn(transaction.commit)

    async def dispose(self) -> None:
        await greenlet_spawn(self.sync_engine.dispose)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Connection]:
        connection = await greenlet_spawn(self.sync_engine.connect)
        try:
            yield connection
        finally:
            await _completed(greenlet_spawn(connection.close))


def _sqlite_driver(connection: Connection) -> SqliteConnection | None:
    driver = connection.connection.driver_connection
    return driver if isinstance(driver, SqliteConnection) else None


def create_async_engine(
    url: str, connect: Callable[[], Awaitable[object]], **options: Any
) -> AsyncEngine:
    """Make an engine whose connections `connect` opens; `url` names dialect and driver alone."""

    def open_connection() -> Any:
        return engine.dialect.dbapi.connect(async_creator_fn=connect)  # type: ignore[union-attr] # it has a driver

    engine = create_engine(url, creator=open_connection, **options)
    return AsyncEngine(engine)


async def _completed(work: Coroutine[Any, Any, None]) -> None:
    """Wait for the end of `work` even when cancelled: a connection must get back to its pool."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as cancellation:
            cancelled = cancellation
    if cancelled is not None:
        raise cancelled
    task.result()


_GRACE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how many."""

    connect: timedelta = timedelta(seconds=3)
    statement: timedelta = timedelta(seconds=5)
    """One statement, or the wait for a lock."""
    pool_wait: timedelta = timedelta(seconds=3)
    """The wait for a free connection."""
    connections: int = 5
    """Connections of each process, without those of the look-ups."""
    lookups: int = 2
    """Connections for the look-ups of each process, on PostgreSQL."""

    @property
    def client_timeout(self) -> timedelta:
        """The wait for a database that should have ended the statement itself."""
        return self.statement + _GRACE

    def pool(self, connections: int) -> dict[str, Any]:
        """Return SQLAlchemy's settings for a pool of fixed size."""
        return {
            "pool_size": connections,
            "max_overflow": 0,
            "pool_timeout": self.pool_wait.total_seconds(),
            # Errors quote statements without their values.
            "hide_parameters": True,
        }


@dataclass(frozen=True, slots=True)
class Engines:
    """Connections for transactions and for prepared queries, for reading or for writing."""

    reader: AsyncEngine = field(repr=False)
    writer: AsyncEngine = field(repr=False)
    query_executor: QueryExecutor = field(repr=False)
    command_executor: QueryExecutor = field(repr=False)

    async def dispose(self) -> None:
        await self.query_executor.dispose()
        await self.command_executor.dispose()
        await self.reader.dispose()
        await self.writer.dispose()
