"""The log of changes: written with a change, and read whatever the order of commits."""

import pytest

from gateway.domain.errors import StoreUnavailable
from gateway.domain.secrets import SecretsAtRest
from gateway.storage.change_follower import ChangeFollower, FollowedRevocations
from gateway.storage.sql.database import SqlDatabase
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, store_realms


class Delivered:
    """Remembers topics."""

    def __init__(self, database: SqlDatabase) -> None:
        self.topics: list[str] = []
        self.follower = ChangeFollower(database.changes, self.topics.extend)
        self.revocations = FollowedRevocations(database.lookups, self.follower)

    async def read(self) -> list[str]:
        """Return the topics that are new."""
        self.topics.clear()
        await self.follower.read_changes()
        return list(self.topics)

    async def ask(self, token_id: str = "jti") -> tuple[bool, list[str]]:
        """Return whether a token is revoked, and the topics that came with the answer."""
        self.topics.clear()
        return await self.revocations.is_revoked("demo-id", token_id), list(self.topics)


async def _record(database: SqlDatabase, *topics: str) -> None:
    async with database.write() as stores:
        await stores.change_log.record(topics)


async def test_every_change_is_delivered_once(
    database: SqlDatabase, other_gateway: SqlDatabase
) -> None:
    delivered = Delivered(other_gateway)
    await delivered.read()
    await _record(database, "user:one", "client:two", "user:one")
    await _record(database)
    await _record(database, "realm:three")
    assert await delivered.read() == ["user:one", "client:two", "realm:three"]
    assert await delivered.read() == []


async def test_a_change_that_is_not_stored_is_not_in_the_log(database: SqlDatabase) -> None:
    delivered = Delivered(database)
    await delivered.read()

    async def fail() -> None:
        async with database.write() as stores:
            await stores.change_log.record(["realm:one"])
            raise StoreUnavailable("redis")

    with pytest.raises(StoreUnavailable):
        await fail()
    assert await delivered.read() == []


async def test_a_change_that_commits_after_a_later_one_is_delivered(
    postgres_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> None:
    first, second = (SqlDatabase(postgres_database.url, secrets_at_rest) for _ in range(2))
    delivered = Delivered(second)
    await delivered.read()
    async with first.write() as stores:
        await stores.change_log.record(["realm:slow"])
        await _record(second, "realm:quick")
        assert await delivered.read() == ["realm:quick"]
    assert await delivered.read() == ["realm:slow"]
    await first.dispose()
    await second.dispose()


async def test_the_query_for_a_revocation_brings_every_change_once(
    database: SqlDatabase, other_gateway: SqlDatabase
) -> None:
    await store_realms(database, "demo")
    delivered = Delivered(other_gateway)
    await delivered.ask()
    await _record(database, "user:one", "client:two")
    async with database.write() as stores:
        await stores.revocations.revoke("demo-id", "jti", NOW)
    assert await delivered.ask() == (True, ["user:one", "client:two"])
    assert await delivered.ask() == (True, [])
    assert await delivered.read() == []
    await _record(database, "realm:three")
    assert await delivered.read() == ["realm:three"]
    assert await delivered.ask("another\0") == (False, [])


async def test_the_query_returns_changes_that_commit_out_of_order(
    postgres_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> None:
    first, second = (SqlDatabase(postgres_database.url, secrets_at_rest) for _ in range(2))
    delivered = Delivered(second)
    await delivered.ask()
    async with first.write() as stores:
        await stores.change_log.record(["realm:slow"])
        await _record(second, "realm:quick")
        assert await delivered.ask() == (False, ["realm:quick"])
        assert await delivered.ask() == (False, [])
    assert await delivered.ask() == (False, ["realm:slow"])
    await first.dispose()
    await second.dispose()


async def test_the_query_returns_changes_in_progress_at_the_start(
    postgres_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> None:
    first, second = (SqlDatabase(postgres_database.url, secrets_at_rest) for _ in range(2))
    delivered = Delivered(second)
    async with first.write() as stores:
        await stores.change_log.record(["realm:slow"])
        await _record(second, "realm:quick")
        at_start = await delivered.ask()
    afterwards = await delivered.ask()
    await first.dispose()
    await second.dispose()
    assert at_start[1][-1:] == ["realm:quick"]
    assert afterwards == (False, ["realm:slow"])


async def test_a_purge_leaves_the_newest(database: SqlDatabase) -> None:
    await _record(database, "realm:one")
    async with database.write() as stores:
        assert await stores.change_log.purge() == 0
    newest = await database.changes.newest()
    assert [change.topics for change in await database.changes.after(newest - 1)] == [
        ("realm:one",)
    ]
    assert await database.changes.after(newest) == []
