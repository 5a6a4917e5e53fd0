"""Facts of a database, read before it is opened, so without SQLAlchemy and Alembic.

A schema newer than this program's is left alone: during a rolling upgrade the previous version
works on it (migrations/README.md).
"""

import sqlite3
from contextlib import closing
from typing import Final

from gateway.domain.errors import StoreUnavailable
from gateway.domain.secrets import Secret
from gateway.storage.sql.address import PostgresServer, SqliteFile, parse_database_url
from gateway.storage.sql.migrations import HEAD

_CONNECT_SECONDS: Final = 3.0
_REVISION: Final = "SELECT max(version_num) FROM alembic_version"
_SECRETS: Final = """
SELECT 'yes' WHERE EXISTS (SELECT 1 FROM realm_keys) OR EXISTS (SELECT 1 FROM credentials)
    OR EXISTS (SELECT 1 FROM clients WHERE secret IS NOT NULL)
"""


async def current_revision(url: Secret) -> str | None:
    """Return the revision of the schema, None where there is none yet."""
    return await _answer(url, _REVISION)


async def contains_secrets(url: Secret) -> bool:
    """Return whether the database contains encrypted secrets; False where there is no schema."""
    return await _answer(url, _SECRETS) is not None


async def needs_migration(url: Secret) -> bool:
    """Return whether the schema is older than this program's."""
    return is_older(await current_revision(url))


def is_older(revision: str | None) -> bool:
    """Return whether `revision` comes before this program's."""
    return revision is None or int(revision) < int(HEAD)


async def _answer(url: Secret, query: str) -> str | None:
    """Return the first value that the query returns, None where there is none or no schema."""
    address = parse_database_url(url)
    if isinstance(address, SqliteFile):
        return _of_file(address, query)
    return await _of_server(address, query)


def _of_file(file: SqliteFile, query: str) -> str | None:
    if not file.path.exists():
        return None
    try:
        location = f"{file.path.as_uri()}?mode=rw"
        with closing(sqlite3.connect(location, uri=True, timeout=_CONNECT_SECONDS)) as connection:
            known = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
            ).fetchone()
            row = connection.execute(query).fetchone() if known else None
            return row[0] if row else None
    except sqlite3.Error as error:
        raise StoreUnavailable("sql") from error


async def _of_server(server: PostgresServer, query: str) -> str | None:
    import asyncpg  # type: ignore[import-untyped] # noqa: PLC0415 - untyped; only for PostgreSQL

    try:
        connection = await asyncpg.connect(
            server.dsn.reveal(), timeout=_CONNECT_SECONDS, command_timeout=_CONNECT_SECONDS
        )
        try:
            known = await connection.fetchval("SELECT to_regclass('alembic_version')")
            return await connection.fetchval(query) if known else None
        finally:
            await connection.close(timeout=_CONNECT_SECONDS)
    except ValueError:  # for a malformed address, which must not be quoted
        raise StoreUnavailable("sql") from None
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreUnavailable("sql") from error
