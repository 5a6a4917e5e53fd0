"""A password that is hashed anew never undoes a change that came between: both databases."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from gateway.domain.users import Credential
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.stored_values import credential, store_realms, user

OLD = credential(id="password", secret_data='{"value":"old"}')
CHANGED = replace(OLD, secret_data='{"value":"changed"}')
STRONGER = replace(OLD, secret_data='{"value":"old, hashed anew"}')


@pytest.fixture
async def with_password(database: SqlDatabase) -> SqlDatabase:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.users.add(user("alice"))
        await stores.users.set_credential("demo-id", OLD)
    return database


async def _exchange(database: SqlDatabase, before: Credential = OLD) -> bool:
    async with database.write() as stores:
        return await stores.users.exchange_credential("demo-id", before, STRONGER)


async def _stored(database: SqlDatabase) -> tuple[Credential, ...]:
    async with database.read() as stores:
        return await stores.users.credentials("demo-id", "alice-uuid")


async def test_an_unchanged_credential_is_exchanged(with_password: SqlDatabase) -> None:
    assert await _exchange(with_password)
    assert await _stored(with_password) == (STRONGER,)


async def test_a_changed_credential_stays(with_password: SqlDatabase) -> None:
    async with with_password.write() as stores:
        await stores.users.set_credential("demo-id", CHANGED)
    assert not await _exchange(with_password)
    assert await _stored(with_password) == (CHANGED,)


async def test_a_credential_that_is_gone_does_not_come_back(with_password: SqlDatabase) -> None:
    assert not await _exchange(with_password, replace(OLD, id="another"))
    assert await _stored(with_password) == (OLD,)


async def test_an_exchange_waits_for_the_change_that_came_first(
    with_password: SqlDatabase,
    other_gateway: SqlDatabase,
    somebody_waits: Callable[[], bool],
) -> None:
    async with with_password.write() as stores:
        await stores.users.set_credential("demo-id", CHANGED)
        exchange = asyncio.create_task(_exchange(other_gateway))
        await eventually(somebody_waits)
    assert not await exchange
    assert await _stored(with_password) == (CHANGED,)
