"""Many sessions in a store, and how many bytes it takes for them.

Online sessions are written by the product's own store over a connection that sends its scripts a
thousand at a time. Rows of offline sessions are copies of those that the product has written for a
real login, with ids and instants of their own. Each part runs in a process of its own.
"""

import asyncio
import secrets
import socket
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import asyncpg  # type: ignore[import-untyped] # asyncpg ships no types
from redis import Redis

from bench.processes import BenchError
from gateway.domain.clock import SystemClock
from gateway.domain.secrets import Secret
from gateway.domain.sessions import UserSession
from gateway.storage.redis.connection import create_client, script_text
from gateway.storage.redis.sessions import RedisSessions

if TYPE_CHECKING:
    from gateway.storage.redis.connection import RedisClient

TABLES = ("offline_sessions", "offline_client_sessions", "refresh_families")
_AT_ONCE = 1_000
_APART = timedelta(milliseconds=1)
_LIFESPAN = timedelta(hours=10)


def random_ids(count: int) -> list[str]:
    """Make session ids of the product's form."""
    return [secrets.token_urlsafe(18) for _ in range(count)]


def like(model: UserSession, number: int, session_id: str, user_id: str) -> UserSession:
    """Return another user's session that began a little later."""
    later = number * _APART
    return replace(
        model,
        id=session_id,
        user_id=user_id,
        username=f"person-{number}",
        started_at=model.started_at + later,
        refreshed_at=model.refreshed_at + later,
        clients={
            name: replace(
                part, started_at=part.started_at + later, refreshed_at=part.refreshed_at + later
            )
            for name, part in model.clients.items()
        },
    )


def bytes_in_redis(server: Path, model: UserSession, count: int) -> float:
    """Return the bytes of an online session, of `count` in the empty server."""
    with Redis(unix_socket_path=str(server), protocol=2) as client:
        before = _used(client)
        asyncio.run(_fill(server, model, count))
        return (_used(client) - before) / count


def _used(client: Redis) -> int:
    used: int = client.info("memory")["used_memory"]
    return used


async def _fill(server: Path, model: UserSession, count: int) -> None:
    ends_at = SystemClock().now() + _LIFESPAN
    with closing(_Pipeline(server)) as pipeline:
        store = RedisSessions(cast("RedisClient", pipeline), SystemClock())
        for number, session_id in enumerate(random_ids(count)):
            session = like(model, number, session_id, str(uuid.uuid4()))
            await store.add(session, ends_at + number * _APART)
        pipeline.flush()
    client = create_client(Secret(f"unix://{server}"))
    async with client:
        found = await RedisSessions(client, SystemClock()).find_session(model.realm_id, session.id)
    if found != session:
        raise BenchError(f"the last of the sessions is {found}, not {session}")


class _Pipeline:
    """Takes the place of the product's client: sends many calls of the script at once."""

    def __init__(self, server: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(server))
        self._answers = self._socket.makefile("rb")
        self._calls: list[bytes] = []
        self._socket.sendall(_packed(("SCRIPT", "LOAD", script_text("sessions"))))
        self._answers.readline()
        self._answers.readline()

    async def execute_command(self, *words: str | int) -> int:
        """Send the call with others; that it succeeds is seen later."""
        self._calls.append(_packed(words))
        if len(self._calls) == _AT_ONCE:
            self.flush()
        return 1

    def flush(self) -> None:
        """Send what waits; each call must say that it has added a session."""
        self._socket.sendall(b"".join(self._calls))
        for _ in self._calls:
            answer = self._answers.readline()
            if answer != b":1\r\n":
                raise BenchError(f"redis-server answered {answer!r} to a session")
        self._calls.clear()

    def close(self) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()


def _packed(words: Sequence[str | int]) -> bytes:
    encoded = [str(word).encode() for word in words]
    parts = [b"*%d\r\n" % len(encoded)]
    for word in encoded:
        parts += (b"$%d\r\n" % len(word), word, b"\r\n")
    return b"".join(parts)


class Rows(Protocol):
    """A database below the product: its rows as they are."""

    def read(self, table: str, session_id: str) -> dict[str, Any]:
        """Return the row of a session."""
        ...

    def write(self, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows; what they refer to is not looked for."""
        ...

    def size(self) -> int:
        """Return the bytes of the whole database."""
        ...


@dataclass(frozen=True, slots=True)
class SqliteRows:
    """Rows of a SQLite file that nobody else has open."""

    file: Path

    def read(self, table: str, session_id: str) -> dict[str, Any]:
        """Return the row of a session."""
        with closing(sqlite3.connect(self.file)) as database:
            database.row_factory = sqlite3.Row
            (row,) = database.execute(_of_session(table, "?"), (session_id,)).fetchall()
            return dict(row)

    def write(self, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows; SQLite looks for nothing unless it is told to."""
        places = ", ".join("?" * len(columns))
        with closing(sqlite3.connect(self.file)) as database, database:
            database.execute("PRAGMA cache_size = -1000000")
            database.execute("PRAGMA synchronous = OFF")
            database.executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})",  # noqa: S608
                rows,
            )

    def size(self) -> int:
        """Return the bytes of the pages that are used."""
        with closing(sqlite3.connect(self.file)) as database:
            asked = ("page_count", "freelist_count", "page_size")
            pages, free, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in asked)
            return int((pages - free) * size)


@dataclass(frozen=True, slots=True)
class PostgresRows:
    """Rows of a PostgreSQL database."""

    url: str

    def read(self, table: str, session_id: str) -> dict[str, Any]:
        """Return the row of a session."""
        return asyncio.run(self._read(table, session_id))

    def write(self, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows by COPY."""
        asyncio.run(self._write(table, columns, rows))

    def size(self) -> int:
        """Return what the database takes on disk, its log aside."""
        return asyncio.run(self._size())

    async def _read(self, table: str, session_id: str) -> dict[str, Any]:
        connection = await asyncpg.connect(self.url)
        try:
            return dict(await connection.fetchrow(_of_session(table, "$1"), session_id))
        finally:
            await connection.close()

    async def _write(
        self, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute("SET session_replication_role = replica")
            await connection.copy_records_to_table(table, records=rows, columns=columns)
        finally:
            await connection.close()

    async def _size(self) -> int:
        connection = await asyncpg.connect(self.url)
        try:
            return int(await connection.fetchval("SELECT pg_database_size(current_database())"))
        finally:
            await connection.close()


def _of_session(table: str, place: str) -> str:
    column = "id" if table == "offline_sessions" else "session_id"
    return f"SELECT * FROM {table} WHERE {column} = {place}"  # noqa: S608 - our own names


def bytes_in_sql(rows: Rows, session_id: str, count: int) -> tuple[dict[str, float], str]:
    """Return the bytes of a row by table, of `count` like those of a session, and the last id."""
    ids = random_ids(count)
    sizes = {}
    for table in TABLES:
        model = rows.read(table, session_id)
        before = rows.size()
        rows.write(table, list(model), _rows_like(model, ids))
        sizes[table] = (rows.size() - before) / count
    return sizes, ids[-1]


def _rows_like(model: Mapping[str, Any], ids: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Change what differs from session to session: ids, names and instants."""
    own = "id" if "id" in model else "session_id"
    instants = [name for name, value in model.items() if name.endswith("_at") and value is not None]
    uuids = [column for column in ("user_id", "family", "token_id") if column in model]
    step = _APART // timedelta(microseconds=1)
    for number, session_id in enumerate(ids):
        row = {**model, own: session_id}
        row |= {column: model[column] + number * step for column in instants}
        row |= {column: str(uuid.uuid4()) for column in uuids}
        if "username" in model:
            row["username"] = f"person-{number}"
        yield tuple(row.values())
