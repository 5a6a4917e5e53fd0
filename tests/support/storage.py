"""Databases with the schema in place, the same test on SQLite and on PostgreSQL."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg  # type: ignore[import-untyped] # asyncpg ships no types
import pytest

from gateway.crypto.secrets_at_rest import AesGcmSecrets
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.migrate import migrate
from tests.support.postgres import PostgresServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW

_WAITING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


@dataclass(frozen=True, slots=True)
class StoredDatabase:
    """A database of its own for one test: `dump` shows all that lies in it."""

    url: Secret
    dump: Callable[[], bytes]


@pytest.fixture(scope="session")
def secrets_at_rest() -> SecretsAtRest:
    """Seal with a key of this session."""
    return AesGcmSecrets((b"k" * 32,))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a migrated SQLite file once; tests copy it."""
    path = tmp_path_factory.mktemp("sqlite-template") / "realmgate.db"
    asyncio.run(migrate(Secret(f"sqlite:///{path}")))
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres: PostgresServer) -> str:
    """Make a migrated PostgreSQL database once; it is emptied after each test."""
    name = postgres.create_database()
    asyncio.run(migrate(postgres.url(name)))
    return name


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> StoredDatabase:
    """Return a migrated SQLite database."""
    path = tmp_path / "realmgate.db"
    shutil.copy(sqlite_template, path)

    def dump() -> bytes:
        return b"".join(part.read_bytes() for part in sorted(tmp_path.glob("realmgate.db*")))

    return StoredDatabase(Secret(f"sqlite:///{path}"), dump)


@pytest.fixture(scope="session")
def _empty_postgres(
    postgres: PostgresServer, migrated_postgres: str
) -> Iterator[Callable[[], None]]:
    """Remove every realm over a connection that stays, for a new one costs ten times as much."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(postgres.url(migrated_postgres).reveal()))
        yield lambda: runner.run(connection.execute("DELETE FROM realms"))
        runner.run(connection.close())


@pytest.fixture
def postgres_database(
    postgres: PostgresServer, migrated_postgres: str, _empty_postgres: Callable[[], None]
) -> Iterator[StoredDatabase]:
    """Return a migrated and empty PostgreSQL database."""
    yield StoredDatabase(
        postgres.url(migrated_postgres), lambda: postgres.dump(migrated_postgres).encode()
    )
    _empty_postgres()


@pytest.fixture(params=["sqlite", "postgresql"])
def stored_database(request: pytest.FixtureRequest) -> StoredDatabase:
    """Return a migrated database of each kind in turn."""
    name = "sqlite_database" if request.param == "sqlite" else "postgres_database"
    found: StoredDatabase = request.getfixturevalue(name)
    return found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def shared_database(
    request: pytest.FixtureRequest,
    sqlite_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    secrets_at_rest: SecretsAtRest,
) -> AsyncIterator[SqlDatabase]:
    """Return a migrated database of each kind in turn, one for all tests of a file."""
    if request.param == "sqlite":
        path = shutil.copy(sqlite_template, tmp_path_factory.mktemp("shared") / "realmgate.db")
        url = Secret(f"sqlite:///{path}")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        url = server.url(await asyncio.to_thread(server.create_database))
        await migrate(url)
    opened = SqlDatabase(url, secrets_at_rest, clock=SetClock(NOW))
    yield opened
    await opened.dispose()


@pytest.fixture
async def database(
    stored_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> AsyncIterator[SqlDatabase]:
    """Return the product's database on SQLite and on PostgreSQL."""
    opened = SqlDatabase(stored_database.url, secrets_at_rest, clock=SetClock(NOW))
    yield opened
    await opened.dispose()


@pytest.fixture
async def other_gateway(
    stored_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> AsyncIterator[SqlDatabase]:
    """Return the same database as another gateway opens it."""
    opened = SqlDatabase(stored_database.url, secrets_at_rest, clock=SetClock(NOW))
    yield opened
    await opened.dispose()


@pytest.fixture
async def waiting(stored_database: StoredDatabase) -> AsyncIterator[Callable[[], int]]:
    """Tell how many have waited for locks of the database at once."""
    if stored_database.url.reveal().startswith("sqlite"):
        # A writer cannot even begin while another writes: there is nothing to wait for.
        yield lambda: sys.maxsize
        return
    connection = await asyncpg.connect(stored_database.url.reveal())
    seen = [0]

    async def look() -> None:
        while True:
            seen[0] = max(seen[0], await connection.fetchval(_WAITING))

    looking = asyncio.create_task(look())
    yield lambda: seen[0]
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    await connection.close()


@pytest.fixture
def somebody_waits(waiting: Callable[[], int]) -> Callable[[], bool]:
    """Tell whether somebody has waited for a lock of the database."""
    return lambda: waiting() > 0
