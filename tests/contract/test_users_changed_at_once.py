"""A user whom two change at the same time, on two gateways, keeps both changes: both databases."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from gateway.admin.changes import Changes
from gateway.admin.sessions import SessionAdministration
from gateway.admin.users.administration import UserAdministration
from gateway.authentication.brute_force_protection import is_locked_for_good
from gateway.authentication.errors import SignInRefused
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import PasswordRule
from gateway.domain.users import User
from gateway.storage.redis.sessions import RedisSessions
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.operators import acting_on
from tests.support.password_logins import (
    RULES,
    WRONG,
    Gateway,
    guarded_realm,
    permanently,
    store_user,
)
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, store_realms

STRICT = guarded_realm(permanently(replace(RULES, failure_factor=1)))
YEARLY = guarded_realm(more=(PasswordRule("forceExpiredPasswordChange", "365"),))


class Operator:
    """Sign-ins and commands on another gateway than the one that changes the user first."""

    def __init__(self, gateway: Gateway, database: SqlDatabase) -> None:
        self.gateway = gateway
        self.database = database
        changes = Changes(database, gateway.clock, gateway.invalidation)
        unused: Any = None
        self.activation = UserAdministration(changes, unused, unused, gateway.failures)
        online = RedisSessions(gateway.client, gateway.clock)
        self.sessions = SessionAdministration(changes, online)

    async def unlock(self) -> None:
        """End the lock-out of alice."""
        await self.activation.unlock_user(await acting_on(self.database, "demo"), "alice-uuid")

    async def disable(self) -> None:
        """Disable alice."""
        await self.activation.disable_user(await acting_on(self.database, "demo"), "alice-uuid")

    async def log_out(self) -> None:
        """End all sessions of alice."""
        await self.sessions.end_sessions_of_user(
            await acting_on(self.database, "demo"), "alice-uuid"
        )

    async def guess(self) -> None:
        """Give a wrong password, one too many."""
        with suppress(SignInRefused):
            await self.gateway.sign_in(STRICT, password=WRONG)

    async def sign_in_late(self) -> None:
        """Give a password that is older than the realm allows."""
        self.gateway.clock.advance(timedelta(days=366))
        with suppress(SignInRefused):
            await self.gateway.sign_in(YEARLY)


@pytest.fixture
async def operator(
    other_gateway: SqlDatabase, redis_server: RedisServer
) -> AsyncIterator[Operator]:
    gateway = Gateway(other_gateway, redis_server, SetClock(NOW))
    yield Operator(gateway, other_gateway)
    await gateway.close()


async def _find(stores: Stores) -> User:
    user = await stores.users.find_by_id("demo-id", "alice-uuid")
    assert user is not None
    return user


@dataclass(frozen=True)
class Change:
    """What is done, to which user, and what then tells that it was done."""

    do: Callable[[Operator], Coroutine[Any, Any, object]]
    is_done: Callable[[User], bool]
    before: dict[str, object] = field(default_factory=dict)


CHANGES = {
    "locked for good": Change(Operator.guess, is_locked_for_good),
    "asked for a new password": Change(
        Operator.sign_in_late, lambda user: user.required_actions == ("UPDATE_PASSWORD",)
    ),
    "unlocked": Change(
        Operator.unlock,
        lambda user: user.enabled,
        {"enabled": False, "attributes": {"disabledReason": ("permanentLockout",)}},
    ),
    "disabled": Change(
        Operator.disable,
        lambda user: not user.enabled,
    ),
    "logged out": Change(
        Operator.log_out,
        lambda user: user.not_before == int(NOW.timestamp()),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_waits_for_the_one_that_came_first(
    name: str, database: SqlDatabase, operator: Operator, somebody_waits: Callable[[], bool]
) -> None:
    change = CHANGES[name]
    await store_realms(database, "demo")
    await store_user(database, **change.before)  # type: ignore[arg-type] # any field may be set
    async with database.write() as stores:
        await stores.users.replace(replace(await _find(stores), last_name="King"))
        second = asyncio.create_task(change.do(operator))
        await eventually(lambda: somebody_waits() or second.done())
    await second
    async with database.read() as stores:
        stored = await _find(stores)
    assert stored.last_name == "King"
    assert change.is_done(stored)
