"""The revision of a database's schema, read at every start, so without SQLAlchemy and Alembic.

A schema newer than this program's is left alone: during a rolling upgrade the previous version
works on it (migrations/README.md).
"""

import sqlite3
from contextlib import closing

from gateway.domain.errors import StoreUnavailable
from gateway.domain.secrets import Secret
from gateway.storage.sql.address import PostgresServer, SqliteFile, parse_database_url
from gateway.storage.sql.migrations import HEAD

_CONNECT_SECONDS = 3.0
_QUERY = "SELECT max(version_num) FROM alembic_version"


async def current_revision(url: Secret) -> str | None:
    """Return the revision of the schema, None where there is none yet."""
    address = parse_database_url(url)
    if isinstance(address, SqliteFile):
        return _of_file(address)
    return await _of_server(address)


async def needs_migration(url: Secret) -> bool:
    """Return whether the schema is older than this program's."""
    return is_older(await current_revision(url))


def is_older(revision: str | None) -> bool:
    """Return whether `revision` comes before this program's."""
    return revision is None or int(revision) < int(HEAD)


def _of_file(file: SqliteFile) -> str | None:
    if not file.path.exists():
        return None
    try:
        location = f"{file.path.as_uri()}?mode=rw"
        with closing(sqlite3.connect(location, uri=True, timeout=_CONNECT_SECONDS)) as connection:
            known = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
            ).fetchone()
            return connection.execute(_QUERY).fetchone()[0] if known else None
    except sqlite3.Error as error:
        raise StoreUnavailable("sql") from error


async def _of_server(server: PostgresServer) -> str | None:
    import asyncpg  # type: ignore[import-untyped] # noqa: PLC0415 - untyped; only for PostgreSQL

    try:
        connection = await asyncpg.connect(
            server.dsn.reveal(), timeout=_CONNECT_SECONDS, command_timeout=_CONNECT_SECONDS
        )
        try:
            known = await connection.fetchval("SELECT to_regclass('alembic_version')")
            return await connection.fetchval(_QUERY) if known else None
        finally:
            await connection.close(timeout=_CONNECT_SECONDS)
    except ValueError:  # for a malformed address, which must not be quoted
        raise StoreUnavailable("sql") from None
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreUnavailable("sql") from error
