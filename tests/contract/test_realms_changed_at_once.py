"""A realm that two change at the same time, on two gateways, keeps both changes: both databases."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from gateway.admin.changes import Changes
from gateway.admin.sessions import SessionAdministration
from gateway.crypto.passwords import PooledPasswordHasher
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.sessions import RedisSessions
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.operators import acting_on
from tests.support.realm_imports import ELLIPTIC, Imports, Messages
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW

DEMO = {"realm": "demo", **ELLIPTIC}


async def _find(stores: Stores) -> Realm:
    realm = await stores.realms.find_by_name("demo")
    assert realm is not None
    return realm


async def _stored(database: SqlDatabase) -> Realm:
    async with database.read() as stores:
        return await _find(stores)


async def test_an_import_does_not_undo_that_everybody_was_logged_out(
    imports_everywhere: Imports,
    other_gateway: SqlDatabase,
    password_hasher: PooledPasswordHasher,
    somebody_waits: Callable[[], bool],
) -> None:
    await imports_everywhere.run(DEMO)
    async with imports_everywhere.database.write() as stores:
        await stores.realms.replace(replace(await _find(stores), not_before=5))
        importing = asyncio.create_task(
            Imports(other_gateway, password_hasher).run(DEMO | {"displayName": "The Demo"})
        )
        await eventually(lambda: somebody_waits() or importing.done())
    await importing
    stored = await _stored(imports_everywhere.database)
    assert (stored.not_before, stored.display_name) == (5, "The Demo")


async def test_to_log_everybody_out_does_not_undo_an_import(
    imports_everywhere: Imports,
    other_gateway: SqlDatabase,
    redis_server: RedisServer,
    somebody_waits: Callable[[], bool],
) -> None:
    await imports_everywhere.run(DEMO)
    client, clock = create_client(redis_server.url), SetClock(NOW)
    changes = Changes(other_gateway, clock, Messages())
    sessions = SessionAdministration(changes, RedisSessions(client, clock))
    acting = await acting_on(other_gateway, "demo")
    async with imports_everywhere.database.write() as stores:
        await stores.realms.replace(replace(await _find(stores), display_name="The Demo"))
        logging_out = asyncio.create_task(sessions.end_sessions_of_realm(acting))
        await eventually(lambda: somebody_waits() or logging_out.done())
    await logging_out
    await client.aclose()
    stored = await _stored(imports_everywhere.database)
    assert (stored.not_before, stored.display_name) == (int(NOW.timestamp()), "The Demo")
