"""PostgreSQL: synchronous commit; readers in one read-only snapshot; slow statements are ended.

Prepared queries take one round trip each; the driver prepares them once for each connection.
Source: https://www.postgresql.org/docs/15/runtime-config-client.html
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import asyncpg  # type: ignore[import-untyped] # asyncpg ships no types

from gateway.domain.errors import StoreUnavailable
from gateway.storage.sql.address import PostgresServer
from gateway.storage.sql.asynchronous import Engines, Limits, create_async_engine
from gateway.storage.sql.prepared_query import PreparedQuery, Values

_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


Connect = Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]


@dataclass(frozen=True, slots=True)
class _Connector:
    """Opens connections; SQLAlchemy does not receive the address with its password."""

    server: PostgresServer
    limits: Limits
    read_only: bool = False

    async def __call__(self) -> "asyncpg.Connection[asyncpg.Record]":
        milliseconds = str(self.limits.statement // timedelta(milliseconds=1))
        try:
            return await asyncpg.connect(
                self.server.dsn.reveal(),
                timeout=self.limits.connect.total_seconds(),
                # The server ends a slow statement; this limit is for a server that does not answer.
                command_timeout=self.limits.client_timeout.total_seconds(),
                server_settings={
                    "application_name": "realmgate",
                    "synchronous_commit": "on",
                    # Compiling a query takes longer than each of ours, whatever it estimates.
                    "jit": "off",
                    "default_transaction_read_only": "on" if self.read_only else "off",
                    "statement_timeout": milliseconds,
                    "lock_timeout": milliseconds,
                    "idle_in_transaction_session_timeout": milliseconds,
                },
            )
        except ValueError:
            raise ConnectionError("the PostgreSQL address cannot be understood") from None


def create_engines(server: PostgresServer, limits: Limits) -> Engines:
    """Make the engines of a server, which share one pool; prepared queries have their own pools."""
    engine = create_async_engine(
        "postgresql+asyncpg://",
        _Connector(server, limits),
        # A connection that died with the server is replaced before a request uses it.
        pool_pre_ping=True,
        **limits.pool(limits.connections),
    )
    reading, writing = (_Connector(server, limits, read_only=only) for only in (True, False))
    return Engines(
        engine.execution_options(**_SNAPSHOT),
        engine,
        PostgresExecutor(reading, limits.lookups, limits.pool_wait),
        PostgresExecutor(writing, limits.lookups, limits.pool_wait),
    )


class PostgresExecutor:
    """QueryExecutor over at most `connections` connections; belongs to one event loop."""

    def __init__(self, connect: Connect, connections: int, pool_wait: timedelta) -> None:
        self._connect = connect
        self._pool_wait = pool_wait.total_seconds()
        self._free = asyncio.Semaphore(connections)
        self._idle: list[asyncpg.Connection[asyncpg.Record]] = []

    async def execute(self, query: PreparedQuery, arguments: Values) -> Sequence[Values]:
        try:
            await self._wait_for_free()
            try:
                return await self._fetch(query, arguments)
            finally:
                self._free.release()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise StoreUnavailable("sql") from error

    async def dispose(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _wait_for_free(self) -> None:
        if self._free.locked():
            async with asyncio.timeout(self._pool_wait):
                await self._free.acquire()
        else:
            await self._free.acquire()

    async def _fetch(self, query: PreparedQuery, arguments: Values) -> Sequence[Values]:
        connection = await self._connection()
        answered = False
        try:
            records = await connection.fetch(query.text, *arguments)
            answered = True
        finally:
            if answered:
                self._idle.append(connection)
            else:
                # After a failure or a cancellation its state is unknown.
                connection.terminate()
        return [tuple(record) for record in records]

    async def _connection(self) -> "asyncpg.Connection[asyncpg.Record]":
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return await self._connect()
