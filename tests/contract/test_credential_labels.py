"""A label or a place stored while a credential is used does not undo the use: both databases.

A sign-in advances the step of a code or the counter of a security key; it does not lock the user.
Spec: RFC 6238 §5.2; Web Authentication Level 2 §6.1.1
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.accounts.credentials import AccountCredentials
from gateway.admin.changes import Changes
from gateway.admin.users.credentials import UserCredentials
from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.passwords import NewPasswords, PasswordChanges
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.ports.lookups import RealmEntry, UserEntry
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import PRIORITY_STEP, Credential
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.operators import acting_on
from tests.support.password_logins import CountingHasher, RememberedTopics
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, credential, realm, store_realms, user

PASSWORD: Final = credential(id="password", priority=PRIORITY_STEP)
DEVICE: Final = credential(
    id="device", type="otp", credential_data='{"step":1}', priority=2 * PRIORITY_STEP
)
USED: Final = replace(DEVICE, credential_data='{"step":2}', secret_data='{"value":"used"}')
CALLER: Final = AccountCaller(
    ProtocolRequest(
        realm=RealmEntry(realm("demo"), PyJwtKeyFactory().ring(())),
        issuer="https://gateway.test/realms/demo",
        parameters=Parameters(),
        authorization=None,
        certificate=None,
        remote_address="192.0.2.1",
        secure=True,
        now=NOW,
    ),
    UserEntry(user(), EffectiveRoles()),
    frozenset(AccountRole),
)


@dataclass(frozen=True)
class Console:
    """What the user and an administrator do to the list of credentials."""

    database: SqlDatabase
    own: AccountCredentials
    administered: UserCredentials

    async def label_own(self) -> None:
        await self.own.label_credential(CALLER, "device", "Phone")

    async def label(self) -> None:
        await self.administered.label_credential(
            await acting_on(self.database, "demo"), "alice-uuid", "device", "Phone"
        )

    async def move(self) -> None:
        await self.administered.move_credential(
            await acting_on(self.database, "demo"), "alice-uuid", "device", None
        )


@pytest.fixture
def console(other_gateway: SqlDatabase) -> Iterator[Console]:
    clock, topics, hasher = SetClock(NOW), RememberedTopics(), CountingHasher()
    yield Console(
        other_gateway,
        AccountCredentials(other_gateway, AccountUpdates(other_gateway, topics, clock)),
        UserCredentials(
            Changes(other_gateway, clock, topics),
            PasswordChanges(NewPasswords(clock), hasher),
        ),
    )
    hasher.close()


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.users.add(user())
        for each in (PASSWORD, DEVICE):
            await stores.users.set_credential("demo-id", each)
    return database


async def _credentials(database: SqlDatabase) -> tuple[Credential, ...]:
    async with database.read() as stores:
        return await stores.users.credentials("demo-id", "alice-uuid")


LABELED: Final = (PASSWORD, replace(USED, label="Phone"))
MOVED: Final = (
    replace(USED, priority=PRIORITY_STEP),
    replace(PASSWORD, priority=2 * PRIORITY_STEP),
)


@pytest.mark.parametrize(
    ("change", "expected"),
    [(Console.label_own, LABELED), (Console.label, LABELED), (Console.move, MOVED)],
)
async def test_a_used_code_stays_used_through_a_concurrent_relabelling(
    change: Callable[[Console], Coroutine[Any, Any, None]],
    expected: tuple[Credential, ...],
    stored: SqlDatabase,
    console: Console,
    somebody_waits: Callable[[], bool],
) -> None:
    async with stored.write() as stores:
        assert await stores.users.exchange_credential("demo-id", DEVICE, USED)
        second = asyncio.create_task(change(console))
        await eventually(lambda: somebody_waits() or second.done())
    await second
    assert await _credentials(stored) == expected


async def test_label_and_priority_are_those_of_the_user_alone(stored: SqlDatabase) -> None:
    """A credential that was removed meanwhile stays removed."""
    async with stored.write() as stores:
        update = stores.users.update_label_and_priority
        await update("demo-id", replace(DEVICE, user_id="bob-uuid", label="another user's"))
        await update("other-id", replace(DEVICE, label="another realm's"))
        await update("demo-id", replace(DEVICE, id="removed", label="a removed one's"))
    assert await _credentials(stored) == (PASSWORD, DEVICE)
