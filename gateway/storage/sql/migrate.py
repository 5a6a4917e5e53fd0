"""Migration of the schema, by one gateway at a time, in one transaction.

PostgreSQL: an advisory lock for the length of the transaction. SQLite: an exclusive lock on a
file beside the database, as rebuilding a table needs foreign keys off outside the transaction.

The revision is read before the database is opened, without SQLAlchemy and Alembic. A schema newer
than this program's is left alone: during a rolling upgrade the previous version works on it
(migrations/README.md).
"""

import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text

from gateway.domain.errors import StoreUnavailable
from gateway.domain.secrets import Secret
from gateway.storage.file_lock import file_lock
from gateway.storage.sql import sqlite
from gateway.storage.sql.address import PostgresServer, SqliteFile, parse_database_url
from gateway.storage.sql.asynchronous import Limits
from gateway.storage.sql.migrations import HEAD
from gateway.storage.sql.transaction import DRIVER_FAILURES, named_failure

_CONNECT_SECONDS: Final = 3.0
_REVISION: Final = "SELECT max(version_num) FROM alembic_version"
_SECRETS: Final = """
SELECT 'yes' WHERE EXISTS (SELECT 1 FROM realm_keys) OR EXISTS (SELECT 1 FROM credentials)
    OR EXISTS (SELECT 1 FROM clients WHERE secret IS NOT NULL)
"""


async def current_revision(url: Secret) -> str | None:
    """Return the revision of the schema, None where there is none yet."""
    return await _first_value(url, _REVISION)


async def contains_secrets(url: Secret) -> bool:
    """Return whether the database contains encrypted secrets; False where there is no schema."""
    return await _first_value(url, _SECRETS) is not None


async def needs_migration(url: Secret) -> bool:
    """Return whether the schema is older than this program's."""
    return is_older(await current_revision(url))


def is_older(revision: str | None) -> bool:
    """Return whether `revision` comes before this program's."""
    return revision is None or int(revision) < int(HEAD)


async def _first_value(url: Secret, query: str) -> str | None:
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


_ADVISORY_LOCK = 0x5265616C6D676174
"""An arbitrary number that no other program on the same server is likely to lock."""
_LIMITS = Limits(statement=timedelta(minutes=5), connections=1)


async def migrate(url: Secret) -> bool:
    """Bring the schema to this program's revision; return whether anything changed.

    Safe to call from several gateways at once, and quick where there is nothing to do. Raises
    StoreUnavailable.
    """
    if not await needs_migration(url):
        return False
    address = parse_database_url(url)
    try:
        if isinstance(address, SqliteFile):
            return await _migrate_file(address)
        return await _migrate_server(address)
    except DRIVER_FAILURES as error:
        raise named_failure(error) from error


async def _migrate_file(file: SqliteFile) -> bool:
    file.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(file.path, os.O_RDWR | os.O_CREAT, 0o600))
    engine = sqlite.create_migration_engine(file, _LIMITS)
    try:
        lock = file.path.with_name(f"{file.path.name}.lock")
        async with file_lock(lock, limit=_LIMITS.statement.total_seconds()):
            async with engine.begin() as connection:
                changed = await connection.run_sync(_upgrade)
                broken = await connection.execute(text("PRAGMA foreign_key_check"))
                if broken.first() is not None:
                    raise StoreUnavailable("sql")
            return changed
    finally:
        await engine.dispose()


async def _migrate_server(server: PostgresServer) -> bool:
    from gateway.storage.sql import postgresql  # noqa: PLC0415 - its driver takes 3.5 MB and 50 ms

    engine = postgresql.create_engines(server, _LIMITS).writer
    try:
        async with engine.begin() as connection:
            await connection.execute(
                text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK}
            )
            return await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()


def _upgrade(connection: Connection) -> bool:
    from alembic import command  # noqa: PLC0415 - 7 MB and 55 ms, needed once for each version
    from alembic.config import Config  # noqa: PLC0415
    from alembic.migration import MigrationContext  # noqa: PLC0415

    if not is_older(MigrationContext.configure(connection).get_current_revision()):
        return False
    scripts = str(Path(__file__).with_name("migrations"))
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", scripts.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")
    return True
