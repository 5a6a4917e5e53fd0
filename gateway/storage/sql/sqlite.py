"""SQLite: write-ahead log, every commit flushed to disk, one writer in each process.

Writers begin with BEGIN IMMEDIATE, so that they wait instead of failing half-way.
Source: https://www.sqlite.org/pragma.html, https://www.sqlite.org/lang_transaction.html
"""

import asyncio
import sqlite3
from datetime import timedelta

from sqlalchemy import Connection, event

from gateway.storage.sql.address import SqliteFile
from gateway.storage.sql.asynchronous import AsyncEngine, create_async_engine
from gateway.storage.sql.limits import Engines, Limits
from gateway.storage.sql.lookups import SqliteExecutor
from gateway.storage.sql.sqlite_connection import SqliteConnection

_READ_ONLY = ("query_only = ON",)


def create_engines(file: SqliteFile, limits: Limits) -> Engines:
    """Make the engines of a database file that exists."""
    reading = _READ_ONLY
    writing = ("foreign_keys = ON",)
    return Engines(
        _engine(file, limits, limits.connections, begin="BEGIN", pragmas=reading),
        _engine(file, limits, 1, begin="BEGIN IMMEDIATE", pragmas=writing),
        SqliteExecutor(lambda: _open(file, limits, reading), limits.client_timeout),
        SqliteExecutor(lambda: _open(file, limits, writing), limits.client_timeout, writes=True),
    )


def create_migration_engine(file: SqliteFile, limits: Limits) -> AsyncEngine:
    """Make an engine that can rebuild a table without deleting rows that refer to it."""
    return _engine(file, limits, 1, begin="BEGIN IMMEDIATE", pragmas=("foreign_keys = OFF",))


def _engine(
    file: SqliteFile, limits: Limits, connections: int, *, begin: str, pragmas: tuple[str, ...]
) -> AsyncEngine:
    async def connect() -> SqliteConnection:
        connection = SqliteConnection(
            lambda: _open(file, limits, pragmas), begin=begin, read_only=pragmas == _READ_ONLY
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


def _open(file: SqliteFile, limits: Limits, pragmas: tuple[str, ...]) -> sqlite3.Connection:
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
