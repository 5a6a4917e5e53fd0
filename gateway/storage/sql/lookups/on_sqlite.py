"""Questions to SQLite: one connection, in one thread, in one hop there and back.

SQLite answers from memory in microseconds, and on a slow disk it may take long: so it is never
asked on the event loop. What is asked while the thread is busy goes to it together, so that the
hop, which costs more than the answer, is shared when it matters.
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
from gateway.storage.sql.lookups.question import Question, Values

Rows = Sequence[Values]
FAILURES = (sqlite3.Error, ValueError, ArithmeticError, TypeError, MemoryError)
"""All that the driver raises, of a value it cannot take too: anything else would end the thread."""


@dataclass(slots=True)
class _Asked:
    text: str
    arguments: Values
    answer: asyncio.Future[Rows]
    rows: Rows = ()


class _Batch(list[_Asked]):
    """What goes to the thread together; the first failure is that of all that follow."""

    failure: Exception | None = None


class SqliteQuestions:
    """Questioner over the connection that `open_connection` makes, in the thread that asks.

    A thread that has not answered after `patience` fails what waits for it, and all that is asked
    until it comes back. Where it `writes`, all that goes together is one transaction, with one
    flush to the disk before anybody has an answer. Belongs to one event loop.
    """

    def __init__(
        self,
        open_connection: Callable[[], sqlite3.Connection],
        patience: timedelta,
        *,
        writes: bool = False,
    ) -> None:
        self._open = open_connection
        self._patience = patience.total_seconds()
        self._writes = writes
        self._inbox: SimpleQueue[_Batch | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._waiting = _Batch()
        self._busy = False
        self.is_late = False
        """Whether the thread has been waited for in vain, and has not come back."""
        self._deadline: asyncio.TimerHandle | None = None

    async def ask(self, question: Question, arguments: Values) -> Rows:
        if self.is_late:
            raise StoreUnavailable("sql")
        loop = asyncio.get_running_loop()
        asked = _Asked(question.text, arguments, loop.create_future())
        self._waiting.append(asked)
        if not self._busy:
            self._send(loop)
        try:
            return await asked.answer
        except (*FAILURES, TimeoutError) as error:
            raise StoreUnavailable("sql") from error

    async def dispose(self) -> None:
        """End the thread, and with it the connection."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._inbox.put(None)
            await asyncio.to_thread(thread.join, self._patience)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._thread is None:
            # A daemon: a disk that never answers must not keep the process from ending.
            self._thread = threading.Thread(
                target=self._work, args=(loop,), name="sqlite-questions", daemon=True
            )
            self._thread.start()
        batch, self._waiting = self._waiting, _Batch()
        self._busy = True
        self._deadline = loop.call_later(self._patience, self._despair, batch)
        self._inbox.put(batch)

    def _despair(self, batch: _Batch) -> None:
        self.is_late = True
        late, self._waiting = [*batch, *self._waiting], _Batch()
        for asked in late:
            if not asked.answer.done():
                asked.answer.set_exception(TimeoutError("the database takes too long"))

    def _deliver(self, loop: asyncio.AbstractEventLoop, batch: _Batch) -> None:
        self._busy = self.is_late = False
        if self._deadline is not None:
            self._deadline.cancel()
        for asked in batch:
            if asked.answer.done():
                continue
            if batch.failure is not None:
                asked.answer.set_exception(batch.failure)
            else:
                asked.answer.set_result(asked.rows)
        if self._waiting:
            self._send(loop)

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        connection: sqlite3.Connection | None = None
        while (batch := self._inbox.get()) is not None:
            try:
                connection = connection or self._open()
                self._answer(connection, batch)
            except FAILURES as error:
                batch.failure = error
                _close(connection)
                connection = None
            # The loop may have been closed over an answer that nobody waits for any more.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._deliver, loop, batch)
        _close(connection)

    def _answer(self, connection: sqlite3.Connection, batch: _Batch) -> None:
        if self._writes:
            connection.execute("BEGIN IMMEDIATE")
        for asked in batch:
            asked.rows = connection.execute(asked.text, asked.arguments).fetchall()
        if self._writes:
            connection.execute("COMMIT")


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        connection.close()
