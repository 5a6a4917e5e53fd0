"""Inserts that wait for the next statement, and queries that go ahead: as if each came at once."""

from contextlib import suppress

import pytest

from gateway.domain.errors import AlreadyExists
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import realm, role, store_realms, user

_TAKEN = "User exists with same username"


async def _names(database: SqlDatabase) -> list[str]:
    async with database.read() as stores:
        return [found.username for found in await stores.users.list_users("demo-id")]


async def test_an_insert_that_waits_is_seen_by_the_next_query(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.users.add_all([user("alice")], ())
        assert await stores.users.find_by_username("demo-id", "alice") == user("alice")
        await stores.users.add_all([user("bob")], ())
    assert await _names(database) == ["alice", "bob"]


async def test_an_insert_that_fails_at_the_end_undoes_everything(database: SqlDatabase) -> None:
    """The connection serves the next transaction: SQLAlchemy undoes no commit that failed."""
    await store_realms(database, "demo")

    async def add(*names: str) -> None:
        async with database.write() as stores:
            for name in names:
                await stores.users.add_all([user(name)], ())

    await add("alice")
    with pytest.raises(AlreadyExists, match=_TAKEN):
        await add("carol", "alice")
    await add("bob")
    assert await _names(database) == ["alice", "bob"]


async def test_a_failed_insert_aborts_the_transaction_though_caught(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo")

    async def swallow_a_refusal() -> None:
        async with database.write() as stores:
            await stores.users.add(user("alice"))
            with suppress(AlreadyExists):
                await stores.users.add_all([user("alice")], ())
                await stores.users.find_by_username("demo-id", "alice")

    with pytest.raises(AlreadyExists, match=_TAKEN):
        await swallow_a_refusal()
    assert await _names(database) == []


async def test_what_was_read_ahead_is_read_again_after_a_change(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    names, addresses = ("alice", ""), ("", "")
    async with database.write() as stores:
        stores.roles.expect_realm_role("demo-id", "auditor")
        stores.users.expect_holding("demo-id", names, addresses)
        assert await stores.realms.find_by_name("demo") == realm("demo")
        assert await stores.roles.find_realm_role("demo-id", "auditor") is None
        await stores.roles.add(role("auditor"))
        assert await stores.roles.find_realm_role("demo-id", "auditor") == role("auditor")
        assert await stores.users.holding("demo-id", names, addresses) == ()
        stores.users.expect_holding("demo-id", names, addresses)
        assert await stores.roles.find_realm_role("demo-id", "auditor") == role("auditor")
        await stores.users.add_all([user("alice")], ())
        assert await stores.users.holding("demo-id", names, addresses) == (user("alice"),)


async def test_what_was_read_ahead_is_forgotten_at_the_end(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        stores.roles.expect_realm_role("demo-id", "auditor")
        assert await stores.realms.find_by_name("demo") == realm("demo")
    async with database.write() as stores:
        await stores.roles.add(role("auditor"))
    async with database.write() as stores:
        assert await stores.roles.find_realm_role("demo-id", "auditor") == role("auditor")
