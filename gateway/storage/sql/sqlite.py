"""SQLite: write-ahead log, every commit flushed to disk, one writer in each process.

Writers begin with BEGIN IMMEDIATE, so that they wait instead of failing half-way. Prepared queries
run on one connection in a thread of its own: SQLite answers from memory in microseconds, but on a
slow disk it may take long. Queries that arrive while the thread is busy go to it together: they
share the switch between threads, which costs more than their execution.
Source: https://www.sqlite.org/pragma.html, https://www.sqlite.org/lang_transaction.html
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from queue import SimpleQueue

from sqlalchemy import Connection, event

from gateway.domain.errors import StoreUnavailable
from gateway.storage.sql.address import SqliteFile
from gateway.storage.sql.asynchronous import AsyncEngine, Engines, Limits, create_async_engine
from gateway.storage.sql.prepared_query import PreparedQuery, Values
from gateway.storage.sql.sqlite_connection import SqliteConnection

Rows = Sequence[Values]
FAILURES = (sqlite3.Error, ValueError, ArithmeticError, TypeError, MemoryError)
"""All that the driver raises, for unsuitable values too: anything else would end the thread."""


@dataclass(slots=True)
class _Execution:
    text: str
    arguments: Values
    result: asyncio.Future[Rows]
    rows: Rows = ()


class _Batch(list[_Execution]):
    """Executions of one run of the thread; the first failure fails all of them."""

    failure: Exception | None = None


class SqliteExecutor:
    """QueryExecutor over the connection that `open_connection` makes in the thread.

    A batch that takes longer than `time_limit` fails with all that wait, and new queries fail until
    the thread is back. With `writes` a batch is one transaction with one flush to the disk before
    any result is returned. Belongs to one event loop.
    """

    def __init__(
        self,
        open_connection: Callable[[], sqlite3.Connection],
        time_limit: timedelta,
        *,
        writes: bool = False,
    ) -> None:
        self._open = open_connection
        self._time_limit = time_limit.total_seconds()
        self._writes = writes
        self._inbox: SimpleQueue[_Batch | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._waiting = _Batch()
        self._busy = False
        self.is_late = False
        """Whether the thread exceeded the time limit and is not back yet."""
        self._deadline: asyncio.TimerHandle | None = None

    async def execute(self, query: PreparedQuery, arguments: Values) -> Rows:
        if self.is_late:
            raise StoreUnavailable("sql")
        loop = asyncio.get_running_loop()
        execution = _Execution(query.text, arguments, loop.create_future())
        self._waiting.append(execution)
        if not self._busy:
            self._send(loop)
        try:
            return await execution.result
        except (*FAILURES, TimeoutError) as error:
            raise StoreUnavailable("sql") from error

    async def dispose(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._inbox.put(None)
            await asyncio.to_thread(thread.join, self._time_limit)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._thread is None:
            # A daemon: a disk that never answers must not keep the process from ending.
            self._thread = threading.Thread(
                target=self._work, args=(loop,), name="sqlite-queries", daemon=True
            )
            self._thread.start()
        batch, self._waiting = self._waiting, _Batch()
        self._busy = True
        self._deadline = loop.call_later(self._time_limit, self._on_timeout, batch)
        self._inbox.put(batch)

    def _on_timeout(self, batch: _Batch) -> None:
        self.is_late = True
        late, self._waiting = [*batch, *self._waiting], _Batch()
        for execution in late:
            if not execution.result.done():
                execution.result.set_exception(TimeoutError("the database takes too long"))

    def _deliver(self, loop: asyncio.AbstractEventLoop, batch: _Batch) -> None:
        self._busy = self.is_late = False
        if self._deadline is not None:
            self._deadline.cancel()
        for execution in batch:
            if execution.result.done():
                continue
            if batch.failure is not None:
                execution.result.set_exception(batch.failure)
            else:
                execution.result.set_result(execution.rows)
        if self._waiting:
            self._send(loop)

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        connection: sqlite3.Connection | None = None
        while (batch := self._inbox.get()) is not None:
            try:
                connection = connection or self._open()
                self._execute_batch(connection, batch)
            except FAILURES as error:
                batch.failure = error
                _close_connection(connection)
                connection = None
            # The loop may be closed already when the last batch ends.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._deliver, loop, batch)
        _close_connection(connection)

    def _execute_batch(self, connection: sqlite3.Connection, batch: _Batch) -> None:
        if self._writes:
            connection.execute("BEGIN IMMEDIATE")
        for execution in batch:
            execution.rows = connection.execute(execution.text, execution.arguments).fetchall()
        if self._writes:
            connection.execute("COMMIT")


def _close_connection(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        connection.close()


_READ_ONLY = ("query_only = ON",)


def create_engines(file: SqliteFile, limits: Limits) -> Engines:
    """Make the engines of a database file that exists."""
    reading = _READ_ONLY
    writing = ("foreign_keys = ON",)
    return Engines(
        _engine(file, limits, limits.connections, begin="BEGIN", pragmas=reading),
        _engine(file, limits, 1, begin="BEGIN IMMEDIATE", pragmas=writing),
        SqliteExecutor(lambda: _open_connection(file, limits, reading), limits.client_timeout),
        SqliteExecutor(
            lambda: _open_connection(file, limits, writing), limits.client_timeout, writes=True
        ),
    )


def create_migration_engine(file: SqliteFile, limits: Limits) -> AsyncEngine:
    """Make an engine that can rebuild a table without deleting rows that refer to it."""
    return _engine(file, limits, 1, begin="BEGIN IMMEDIATE", pragmas=("foreign_keys = OFF",))


def _engine(
    file: SqliteFile, limits: Limits, connections: int, *, begin: str, pragmas: tuple[str, ...]
) -> AsyncEngine:
    async def connect() -> SqliteConnection:
        connection = SqliteConnection(
            lambda: _open_connection(file, limits, pragmas),
            begin=begin,
            read_only=pragmas == _READ_ONLY,
        )
        thread = connection._thread  # noqa: SLF001 - as SQLAlchemy's own connect does
        try:
            await connection
        except sqlite3.Error:
            # The thread still calls this event loop: let it end while the loop is open.
            await asyncio.to_thread(thread.join)
            raise
        return connection

    engine = create_async_engine("sqlite+aiosqlite:///file", connect, **limits.pool(connections))

    def begin_transaction(connection: Connection) -> None:
        connection.connection.driver_connection.begin()  # type: ignore[union-attr] # ours

    event.listen(engine.sync_engine, "begin", begin_transaction)
    return engine


def _open_connection(
    file: SqliteFile, limits: Limits, pragmas: tuple[str, ...]
) -> sqlite3.Connection:
    # `mode=rw`: a missing database is an outage, not a reason to create an empty one.
    connection = sqlite3.connect(f"{file.path.as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        for pragma in (
            f"busy_timeout = {limits.statement // timedelta(milliseconds=1)}",
            "journal_mode = WAL",
            "synchronous = FULL",
            *pragmas,
        ):
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
