"""Questions to PostgreSQL: one round trip each, statements prepared once for a connection.

A command that returns rows is one of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import asyncpg  # type: ignore[import-untyped] # asyncpg ships no types

from gateway.domain.errors import StoreUnavailable
from gateway.storage.sql.lookups import Question, Values

Connect = Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]


class PostgresQuestions:
    """Questioner over at most `connections` connections that `connect` makes.

    Belongs to one event loop.
    """

    def __init__(self, connect: Connect, connections: int, pool_wait: timedelta) -> None:
        self._connect = connect
        self._pool_wait = pool_wait.total_seconds()
        self._turns = asyncio.Semaphore(connections)
        self._idle: list[asyncpg.Connection[asyncpg.Record]] = []

    async def ask(self, question: Question, arguments: Values) -> Sequence[Values]:
        try:
            await self._turn()
            try:
                return await self._asked(question, arguments)
            finally:
                self._turns.release()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise StoreUnavailable("sql") from error

    async def dispose(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _turn(self) -> None:
        if self._turns.locked():
            async with asyncio.timeout(self._pool_wait):
                await self._turns.acquire()
        else:
            await self._turns.acquire()

    async def _asked(self, question: Question, arguments: Values) -> Sequence[Values]:
        connection = await self._connection()
        answered = False
        try:
            records = await connection.fetch(question.text, *arguments)
            answered = True
        finally:
            if answered:
                self._idle.append(connection)
            else:
                # Who knows what it would still say: a failure or a cancelled wait ends it.
                connection.terminate()
        return [tuple(record) for record in records]

    async def _connection(self) -> "asyncpg.Connection[asyncpg.Record]":
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return await self._connect()
