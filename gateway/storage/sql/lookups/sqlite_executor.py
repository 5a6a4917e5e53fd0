"""Prepared queries on SQLite: one connection in a thread of its own.

SQLite answers from memory in microseconds, but on a slow disk it may take long, so no query runs on
the event loop. Queries that arrive while the thread is busy go to it together: they share the
switch between threads, which costs more than their execution.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from queue import SimpleQueue

from gateway.domain.errors import StoreUnavailable
from gateway.storage.sql.prepared_query import PreparedQuery, Values

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
                _close(connection)
                connection = None
            # The loop may be closed already when the last batch ends.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._deliver, loop, batch)
        _close(connection)

    def _execute_batch(self, connection: sqlite3.Connection, batch: _Batch) -> None:
        if self._writes:
            connection.execute("BEGIN IMMEDIATE")
        for execution in batch:
            execution.rows = connection.execute(execution.text, execution.arguments).fetchall()
        if self._writes:
            connection.execute("COMMIT")


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        connection.close()
