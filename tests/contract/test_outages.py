"""A database that is away: a clear failure, in bounded time, and back without a restart."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.domain.errors import StoreUnavailable
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.storage.sql.asynchronous import Limits
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.migrate import migrate
from tests.support.deadline import eventually_succeeds
from tests.support.postgres import PostgresServer
from tests.support.storage import StoredDatabase
from tests.support.stored_values import realm, store_realms

_SHORT = Limits(
    connect=timedelta(milliseconds=300),
    statement=timedelta(milliseconds=300),
    pool_wait=timedelta(milliseconds=200),
    connections=2,
)
_LONGEST_WAIT = 10.0
"""Seconds, for a busy machine: far below what is waited where a limit is missing."""

Use = Callable[[SqlDatabase], Awaitable[None]]


async def _ask(database: SqlDatabase) -> None:
    assert not await database.lookups.is_revoked("demo-id", "jti")


USES = (SqlDatabase.ping, _ask)


@pytest.fixture
async def on_postgres(
    own_postgres: PostgresServer, secrets_at_rest: SecretsAtRest
) -> AsyncIterator[SqlDatabase]:
    url = await asyncio.to_thread(lambda: own_postgres.url(own_postgres.create_database()))
    await migrate(url)
    opened = SqlDatabase(url, secrets_at_rest, _SHORT)
    yield opened
    await opened.dispose()


@pytest.fixture
async def impatient(
    stored_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> AsyncIterator[SqlDatabase]:
    opened = SqlDatabase(stored_database.url, secrets_at_rest, _SHORT)
    yield opened
    await opened.dispose()


async def test_a_stopped_server_is_an_outage_and_back_in_two_seconds(
    on_postgres: SqlDatabase, own_postgres: PostgresServer
) -> None:
    await store_realms(on_postgres, "demo")
    await asyncio.to_thread(own_postgres.stop)
    with pytest.raises(StoreUnavailable):
        await on_postgres.ping()
    with pytest.raises(StoreUnavailable):
        await store_realms(on_postgres, "lost")
    await asyncio.to_thread(own_postgres.start)
    await eventually_succeeds(on_postgres.ping, StoreUnavailable, within=2.0)
    async with on_postgres.read() as stores:
        assert [found.name for found in await stores.realms.list_realms()] == ["demo"]


@pytest.mark.parametrize("use", USES)
async def test_a_restart_while_nobody_asked_costs_no_request(
    on_postgres: SqlDatabase, own_postgres: PostgresServer, use: Use
) -> None:
    await asyncio.gather(use(on_postgres), use(on_postgres))
    await asyncio.to_thread(own_postgres.stop)
    await asyncio.to_thread(own_postgres.start)
    await asyncio.gather(use(on_postgres), use(on_postgres))


async def test_a_server_stopped_in_a_transaction_stores_none_of_it(
    on_postgres: SqlDatabase, own_postgres: PostgresServer
) -> None:
    async def write_through_a_crash() -> None:
        async with on_postgres.write() as stores:
            await stores.realms.add(realm("half"))
            await asyncio.to_thread(own_postgres.stop)

    with pytest.raises(StoreUnavailable):
        await write_through_a_crash()
    await asyncio.to_thread(own_postgres.start)
    await eventually_succeeds(on_postgres.ping, StoreUnavailable, within=2.0)
    async with on_postgres.read() as stores:
        assert await stores.realms.list_realms() == ()


@pytest.mark.parametrize("use", USES)
async def test_a_server_that_falls_silent_is_an_outage_in_bounded_time(
    on_postgres: SqlDatabase, own_postgres: PostgresServer, use: Use
) -> None:
    """A half-open connection: nothing is refused, nothing is answered."""
    await use(on_postgres)
    processes = own_postgres.processes()
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        async with asyncio.timeout(_LONGEST_WAIT):
            with pytest.raises(StoreUnavailable):
                await use(on_postgres)
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
    await eventually_succeeds(lambda: use(on_postgres), StoreUnavailable, within=2.0)


async def test_an_exhausted_pool_makes_the_next_caller_time_out(
    impatient: SqlDatabase,
) -> None:
    async with impatient.read(), impatient.read(), asyncio.timeout(_LONGEST_WAIT):
        with pytest.raises(StoreUnavailable):
            await impatient.ping()
    await impatient.ping()


async def test_a_writer_does_not_wait_for_another_gateway_for_ever(
    impatient: SqlDatabase, stored_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> None:
    other = SqlDatabase(stored_database.url, secrets_at_rest)
    async with other.write() as stores:
        await stores.realms.add(realm("demo"))
        with pytest.raises(StoreUnavailable):
            await store_realms(impatient, "demo")
    await store_realms(impatient, "second")
    await other.dispose()


async def test_queries_fail_with_the_server_and_work_again_after(
    on_postgres: SqlDatabase, own_postgres: PostgresServer
) -> None:
    """Connections that died with the server are not used again."""
    await asyncio.gather(*(_ask(on_postgres) for _ in range(20)))
    await asyncio.to_thread(own_postgres.stop)
    with pytest.raises(StoreUnavailable):
        await _ask(on_postgres)
    await asyncio.to_thread(own_postgres.start)
    await eventually_succeeds(on_postgres.ping, StoreUnavailable, within=2.0)
    await _ask(on_postgres)


async def test_a_question_without_a_schema_is_an_outage(
    tmp_path: Path, secrets_at_rest: SecretsAtRest
) -> None:
    (tmp_path / "realmgate.db").touch()
    opened = SqlDatabase(Secret(f"sqlite:///{tmp_path}/realmgate.db"), secrets_at_rest)
    with pytest.raises(StoreUnavailable):
        await _ask(opened)
    await opened.dispose()


async def test_a_database_without_a_schema_is_an_outage(
    tmp_path: Path, secrets_at_rest: SecretsAtRest
) -> None:
    (tmp_path / "realmgate.db").touch()
    opened = SqlDatabase(Secret(f"sqlite:///{tmp_path}/realmgate.db"), secrets_at_rest)
    with pytest.raises(StoreUnavailable):
        await store_realms(opened, "demo")
    await opened.dispose()


async def test_a_vanished_database_file_is_an_outage_not_a_new_file(
    tmp_path: Path, secrets_at_rest: SecretsAtRest
) -> None:
    opened = SqlDatabase(Secret(f"sqlite:///{tmp_path}/gone.db"), secrets_at_rest)
    for use in USES:
        with pytest.raises(StoreUnavailable):
            await use(opened)
    assert not (tmp_path / "gone.db").exists()
    await opened.dispose()


async def test_a_damaged_database_is_an_outage(
    sqlite_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> None:
    path = Path(sqlite_database.url.reveal().removeprefix("sqlite:///"))
    await asyncio.to_thread(path.write_bytes, b"no database " * 1000)
    opened = SqlDatabase(sqlite_database.url, secrets_at_rest)
    with pytest.raises(StoreUnavailable):
        await opened.ping()
    await opened.dispose()


async def test_no_value_of_a_statement_stands_in_its_failure(
    tmp_path: Path, secrets_at_rest: SecretsAtRest
) -> None:
    (tmp_path / "realmgate.db").touch()
    opened = SqlDatabase(Secret(f"sqlite:///{tmp_path}/realmgate.db"), secrets_at_rest)
    with pytest.raises(StoreUnavailable) as caught:
        await store_realms(opened, "canary")
    assert "INSERT INTO realms" in str(caught.value.__cause__)
    assert "canary" not in str(caught.value.__cause__)
    await opened.dispose()
