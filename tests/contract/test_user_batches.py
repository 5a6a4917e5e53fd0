"""Whole users, a batch at a time: what exports are made of."""

from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, credential, role, store_realms, user


async def _names(database: SqlDatabase, *, accounts_only: bool = False) -> list[list[str]]:
    """Return the names of the users of `demo`, batch after batch of two."""
    found: list[list[str]] = []
    after = ""
    async with database.read() as stores:
        while batch := await stores.user_batches.after(
            "demo-id", after, 2, accounts_only=accounts_only
        ):
            assert all(whole.user.realm_id == "demo-id" for whole in batch)
            found.append([whole.user.username for whole in batch])
            after = batch[-1].user.username
    return found


async def _store(database: SqlDatabase) -> None:
    """Store users in no order; those of another realm have the same ids and more roles."""
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for of in ("demo", "other"):
            await stores.clients.add(client("device", of=of))
            await stores.roles.add(role("boss", of=of))
        for name in ("eve", "carol", "alice", "dave", "bob"):
            await stores.users.add(user(name))
        account = user("account", service_account_client="device-uuid")
        await stores.users.add(account)
        for name in ("alice", "adam", "zoe"):
            await stores.users.add(user(name, of="other"))
        await stores.roles.grant("other-id", "alice-uuid", ["boss-role"])
        await stores.users.set_credential("other-id", credential())


async def test_every_user_of_the_realm_comes_once_by_name(database: SqlDatabase) -> None:
    await _store(database)
    assert await _names(database) == [["account", "alice"], ["bob", "carol"], ["dave", "eve"]]


async def test_service_accounts_come_alone_where_they_are_asked_for(database: SqlDatabase) -> None:
    await _store(database)
    assert await _names(database, accounts_only=True) == [["account"]]


async def test_a_user_comes_without_data_of_a_namesake_elsewhere(
    database: SqlDatabase,
) -> None:
    await _store(database)
    async with database.read() as stores:
        (alice,) = await stores.user_batches.after("demo-id", "account", 1)
        (theirs,) = await stores.user_batches.after("other-id", "adam", 1)
    assert (alice.credentials, alice.role_ids) == ((), frozenset())
    assert (len(theirs.credentials), theirs.role_ids) == (1, frozenset({"boss-role"}))
