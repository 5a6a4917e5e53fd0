"""A realm takes all that is in it along, a client its roles and its account, and nothing else."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gateway.domain.ports.storage import Stores
from gateway.domain.secrets import SecretsAtRest
from gateway.storage.sql import realms as sql_realms
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.migrate import migrate
from gateway.storage.sql.schema import metadata
from tests.support.postgres import PostgresServer
from tests.support.stored_events import user_event
from tests.support.stored_values import (
    client,
    credential,
    key,
    realm,
    role,
    store_realms,
    user,
)


def test_every_row_goes_with_its_realm() -> None:
    for table in metadata.sorted_tables:
        if table.name == "realms" or "realm_id" not in table.c:
            continue
        owners = table.c.realm_id.foreign_keys
        to_realm = [each for each in owners if each.column.table.name == "realms"]
        # Or it goes with another row of the realm, which refers to the realm in turn.
        taken_along = to_realm or [each for each in owners if each.column.name == "realm_id"]
        assert [each.ondelete for each in taken_along] == ["CASCADE"], table.name


async def _fill(stores: Stores, name: str) -> None:
    await stores.clients.add(client("device", of=name))
    await stores.clients.add(client("page", of=name))
    await stores.users.add(user("alice", of=name))
    account = user("service-account-device", of=name, service_account_client="device-uuid")
    await stores.users.add(account)
    await stores.users.set_credential(f"{name}-id", credential())
    await stores.roles.add(role("boss", of=name))
    await stores.roles.add(role("reader", of=name, client="device-uuid"))
    await stores.roles.grant(f"{name}-id", "alice-uuid", ["boss-role", "reader-role"])
    await stores.keys.add(key(f"kid-of-{name}", of=name))


async def _held(stores: Stores, name: str) -> tuple[list[str], list[str], list[str], int]:
    realm_id = f"{name}-id"
    return (
        [found.client_id for found in await stores.clients.list_clients(realm_id)],
        [found.username for found in await stores.users.list_users(realm_id)],
        [found.name for found in await stores.roles.list_roles(realm_id)],
        len(await stores.keys.list_keys(realm_id)),
    )


async def test_a_removed_realm_leaves_nothing_to_one_with_its_id(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await _fill(stores, "demo")
        await _fill(stores, "other")
    async with database.write() as stores:
        await stores.realms.remove_realm("demo-id")
        await stores.realms.remove_realm("nobody")
        assert await stores.realms.find_by_name("demo") is None
        await stores.realms.add(realm("demo"))
    async with database.read() as stores:
        assert await _held(stores, "demo") == ([], [], [], 0)
        clients, users, roles, keys = await _held(stores, "other")
        assert (len(clients), len(users), len(roles), keys) == (2, 2, 2, 1)
        assert await stores.roles.granted("demo-id", "alice-uuid") == frozenset()


_NO_MORE_THAN_TWO = """
CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF (SELECT count(*) FROM gone) > 2 THEN RAISE 'too many at once'; END IF; RETURN NULL; END $$;
CREATE TRIGGER few_users AFTER DELETE ON users REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_many();
CREATE TRIGGER few_events AFTER DELETE ON user_events REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_many();
"""


@pytest.fixture
async def patient_database(
    postgres: PostgresServer, secrets_at_rest: SecretsAtRest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[SqlDatabase]:
    """Return a database in which no statement removes more than two users, or events."""
    monkeypatch.setattr(sql_realms, "_AT_ONCE", 2)
    name = await asyncio.to_thread(postgres.create_database)
    await migrate(postgres.url(name))
    await asyncio.to_thread(postgres.execute, _NO_MORE_THAN_TWO, name)
    database = SqlDatabase(postgres.url(name), secrets_at_rest)
    yield database
    await database.dispose()
    await asyncio.to_thread(postgres.execute, f"DROP DATABASE {name} WITH (FORCE)")


async def test_no_statement_takes_longer_the_more_there_is_in_a_realm(
    patient_database: SqlDatabase,
) -> None:
    database = patient_database
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for of in ("demo", "other"):
            await stores.user_events.add_all([user_event(f"{n}", of=of) for n in range(5)])
            for number in range(5):
                await stores.users.add(user(f"user-{number}", of=of))
    async with database.write() as stores:
        await stores.realms.remove_realm("demo-id")
    async with database.read() as stores:
        assert [found.id for found in await stores.realms.list_realms()] == ["other-id"]
        assert len(await stores.users.list_users("other-id")) == 5


async def test_a_removed_client_takes_its_roles_and_its_account_along(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await _fill(stores, "demo")
        await _fill(stores, "other")
    async with database.write() as stores:
        assert await stores.clients.remove_client("demo-id", "device-uuid")
        assert not await stores.clients.remove_client("demo-id", "device-uuid")
    async with database.read() as stores:
        assert await _held(stores, "demo") == (["page"], ["alice"], ["boss"], 1)
        assert await stores.roles.granted("demo-id", "alice-uuid") == {"boss-role"}
        clients, *_ = await _held(stores, "other")
        assert clients == ["device", "page"]
