"""Transactions: all or nothing, durable when acknowledged, closed to readers' writes."""

import asyncio
import signal
import subprocess
import sys
from contextlib import suppress
from copy import copy

import pytest
from sqlalchemy import text

from gateway.domain.errors import AlreadyExists, StoreUnavailable
from gateway.domain.secrets import SecretsAtRest
from gateway.storage.sql.address import parse_database_url
from gateway.storage.sql.database import SqlDatabase, create_engines
from gateway.storage.sql.lookup_statements import LookupQueries
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, realm, store_realms

_WRITER = """
import asyncio, itertools, sys
from gateway.crypto.secrets_at_rest import AesGcmSecrets
from gateway.domain.secrets import Secret
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import realm, user

async def main(url):
    database = SqlDatabase(Secret(url), AesGcmSecrets((b"k" * 32,)))
    for number in itertools.count():
        async with database.write() as stores:
            await stores.realms.add(realm(f"r{number}"))
            await stores.users.add(user("alice", of=f"r{number}"))
        print(number, flush=True)

asyncio.run(main(sys.argv[1]))
"""


class Interruption(Exception):
    """Something that goes wrong half way."""


async def test_a_transaction_that_fails_half_way_leaves_nothing(database: SqlDatabase) -> None:
    async def fail_half_way() -> None:
        async with database.write() as stores:
            await stores.realms.add(realm("first"))
            raise Interruption

    with pytest.raises(Interruption):
        await fail_half_way()
    async with database.read() as stores:
        assert await stores.realms.list_realms() == ()


async def test_a_refusal_spoils_the_transaction_even_when_swallowed(
    database: SqlDatabase,
) -> None:
    """PostgreSQL would answer COMMIT with a silent rollback, SQLite commit the remainder."""

    async def swallow_a_refusal() -> None:
        async with database.write() as stores:
            await stores.realms.add(realm("first"))
            with suppress(AlreadyExists):
                await stores.realms.add(realm("taken", id="another"))

    await store_realms(database, "taken")
    with pytest.raises(AlreadyExists, match="Realm taken already exists"):
        await swallow_a_refusal()
    async with database.read() as stores:
        assert [found.name for found in await stores.realms.list_realms()] == ["taken"]


async def test_nothing_can_be_written_in_a_reading_transaction(database: SqlDatabase) -> None:
    with pytest.raises(StoreUnavailable):
        async with database.read() as stores:
            await stores.realms.add(realm("demo"))


async def test_a_reader_sees_one_snapshot(database: SqlDatabase) -> None:
    await store_realms(database, "before")
    async with database.read() as stores:
        assert len(await stores.realms.list_realms()) == 1
        await store_realms(database, "after")
        assert len(await stores.realms.list_realms()) == 1
    async with database.read() as stores:
        assert len(await stores.realms.list_realms()) == 2


async def test_deleting_a_realm_leaves_nothing_of_it(database: SqlDatabase) -> None:
    """Foreign keys are enforced on both databases."""
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.revocations.revoke("demo-id", "jti", NOW)
        await stores.transaction.execute(text("DELETE FROM realms"))
    assert not await database.lookups.is_revoked("demo-id", "jti")


async def test_a_commit_is_flushed_to_disk(database: SqlDatabase) -> None:
    question = {"sqlite": "PRAGMA synchronous", "postgresql": "SHOW synchronous_commit"}
    async with database.write() as stores:
        answer = await stores.transaction.execute(text(question[stores.transaction.dialect]))
        assert answer.scalar_one() in {2, "on"}


async def test_a_command_is_flushed_to_disk(stored_database: StoredDatabase) -> None:
    engines = create_engines(parse_database_url(stored_database.url))
    dialect = engines.reader.dialect
    text_of = {"sqlite": "PRAGMA synchronous", "postgresql": "SHOW synchronous_commit"}
    question = copy(LookupQueries.of(dialect).revocation)
    question.text = text_of[dialect.name]
    try:
        ((answer,),) = await engines.command_executor.execute(question, ())
    finally:
        await engines.dispose()
    assert answer in {2, "on"}


def test_no_acknowledged_write_is_lost_by_kill_9(
    stored_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> None:
    """Kill the writer in full flight: all it acknowledged is there, and no half of a write."""
    acknowledged = _write_until_killed(stored_database.url.reveal(), count=25)
    stored = asyncio.run(_read_users(SqlDatabase(stored_database.url, secrets_at_rest)))
    assert set(range(acknowledged + 1)) <= set(stored)
    assert set(stored.values()) == {1}


def _write_until_killed(url: str, count: int) -> int:
    with subprocess.Popen([sys.executable, "-c", _WRITER, url], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= count:
                break
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split(b"\n")[:-1]
    return int(rest[-1]) if rest else count


async def _read_users(database: SqlDatabase) -> dict[int, int]:
    """Return how many users each numbered realm has."""
    async with database.read() as stores:
        found = {
            int(stored.name.removeprefix("r")): len(await stores.users.list_users(stored.id))
            for stored in await stores.realms.list_realms()
        }
    await database.dispose()
    return found
