"""What is particular to sessions in SQL: they last, and go with whom they belong to."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from gateway.domain.errors import InvalidInput
from gateway.domain.secrets import SecretsAtRest
from gateway.storage.sql.database import SqlDatabase
from tests.support.sessions import LATER, part, session, store_owners
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW

_SECOND = timedelta(seconds=1)


async def test_an_offline_session_survives_a_restart(
    database: SqlDatabase, stored_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> None:
    await store_owners(database)
    async with database.write() as stores:
        await stores.offline_sessions.add(session("one", "device"), LATER)
    await database.dispose()
    restarted = SqlDatabase(stored_database.url, secrets_at_rest)
    async with restarted.read() as stores:
        found = await stores.offline_sessions.find_session("demo-id", "one-session")
    assert found == session("one", "device", offline=True)
    await restarted.dispose()


async def test_expired_sessions_are_purged_in_every_realm(database: SqlDatabase) -> None:
    await store_owners(database)
    async with database.write() as stores:
        await stores.offline_sessions.add(session("one", "device"), NOW)
        await stores.offline_sessions.add(session("one", "device", of="other"), NOW)
        await stores.offline_sessions.add(session("two", "device"), NOW)
        await stores.offline_sessions.join("demo-id", "two-session", part("browser"), LATER)
        assert await stores.offline_sessions.purge(NOW) == 0
        assert await stores.offline_sessions.purge(NOW + _SECOND) == 2
        assert await stores.offline_sessions.count_of_client("demo-id", "device-uuid") == 1
        assert await stores.offline_sessions.count_of_client("other-id", "device-uuid") == 0
        assert await stores.offline_sessions.find_session("demo-id", "two-session") is not None


async def test_a_session_belongs_to_a_user_and_to_clients_of_its_realm(
    database: SqlDatabase,
) -> None:
    await store_owners(database)
    for wrong in (session("one", user_id="ghost"), session("one", "ghost")):
        with pytest.raises(InvalidInput):
            async with database.write() as stores:
                await stores.offline_sessions.add(wrong, LATER)
    async with database.write() as stores:
        await stores.offline_sessions.add(session("one", "device", "browser"), LATER)
        await stores.offline_sessions.add(session("theirs", user_id="bob-uuid"), LATER)
        await stores.transaction.execute(
            text("DELETE FROM clients WHERE client_id = 'browser' AND realm_id = 'demo-id'")
        )
        found = await stores.offline_sessions.find_session("demo-id", "one-session")
        assert found == session("one", "device", offline=True)
        await stores.transaction.execute(text("DELETE FROM users WHERE username = 'alice'"))
        assert await stores.offline_sessions.find_session("demo-id", "one-session") is None
        assert await stores.offline_sessions.count_of_client("demo-id", "device-uuid") == 0
        assert len(await stores.offline_sessions.of_user("demo-id", "bob-uuid")) == 1
