"""Migration of the schema, by one gateway at a time, in one transaction.

PostgreSQL: an advisory lock for the length of the transaction. SQLite: an exclusive lock on a
file beside the database, as rebuilding a table needs foreign keys off outside the transaction.
"""

import os
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection, text

from gateway.domain.errors import StoreUnavailable
from gateway.domain.secrets import Secret
from gateway.storage.file_lock import file_lock
from gateway.storage.sql import sqlite
from gateway.storage.sql.address import PostgresServer, SqliteFile, parse_database_url
from gateway.storage.sql.limits import Limits
from gateway.storage.sql.revision import is_older, needs_migration
from gateway.storage.sql.transaction import named_failures

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
    with named_failures():
        if isinstance(address, SqliteFile):
            return await _migrate_file(address)
        return await _migrate_server(address)


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
