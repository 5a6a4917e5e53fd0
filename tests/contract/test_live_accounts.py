"""Decisions see what another gateway has committed, although its message was lost."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from gateway.authentication.validity import Validity
from gateway.certificates import CertificateTrust
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.secrets import Secret
from gateway.forward_auth.callers import CHANGES_AGE, LiveAccounts
from gateway.storage.cache import RealmCache
from gateway.storage.change_follower import ChangeFollower, FollowedRevocations
from gateway.storage.redis.invalidation import RedisInvalidation
from gateway.storage.sql.database import SqlDatabase
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, realm, store_realms


@pytest.fixture
def clock() -> SetClock:
    """Return the clock of the gateway."""
    return SetClock(NOW)


@pytest.fixture
async def accounts(
    other_gateway: SqlDatabase, redis_server: RedisServer, clock: SetClock
) -> AsyncIterator[LiveAccounts]:
    """Return what a gateway decides with; it hears no messages."""
    messages = RedisInvalidation(Secret(redis_server.url.reveal()))
    directory = RealmCache(other_gateway.lookups, PyJwtKeyFactory(), clock, messages)
    follower = ChangeFollower(other_gateway.changes, messages.deliver)
    yield LiveAccounts(
        directory,
        FollowedRevocations(other_gateway.lookups, follower),
        cast("Validity", None),
        cast("CertificateTrust", None),
        clock,
    )
    await messages.stop()


async def _is_enabled(accounts: LiveAccounts) -> bool:
    found = await accounts.realm("demo")
    assert found is not None
    return found.realm.enabled


async def test_a_change_without_a_message_is_seen_soon(
    database: SqlDatabase, accounts: LiveAccounts, clock: SetClock
) -> None:
    await store_realms(database, "demo")
    assert await _is_enabled(accounts)
    async with database.write() as stores:
        await stores.realms.replace(replace(realm("demo"), enabled=False))
        await stores.change_log.record([realm_topic("demo-id")])
    clock.advance(CHANGES_AGE)
    assert not await _is_enabled(accounts)


async def test_the_log_of_changes_is_not_read_for_every_decision(
    database: SqlDatabase, accounts: LiveAccounts, clock: SetClock
) -> None:
    await store_realms(database, "demo")
    assert await _is_enabled(accounts)
    async with database.write() as stores:
        await stores.realms.replace(replace(realm("demo"), enabled=False))
        await stores.change_log.record([realm_topic("demo-id")])
    clock.advance(CHANGES_AGE - timedelta(milliseconds=1))
    assert await _is_enabled(accounts)


async def test_a_realm_that_does_not_exist_is_none(accounts: LiveAccounts) -> None:
    assert await accounts.realm("demo") is None
