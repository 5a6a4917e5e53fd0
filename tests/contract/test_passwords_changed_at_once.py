"""Two who set a password at the same time lose nothing, nor does a hash made anew: both databases.

The hasher of the first lets somebody else do something while it works, as it does when hashes
take long.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.crypto.passwords import PooledPasswordHasher
from gateway.domain.errors import Overloaded
from gateway.domain.realm import PasswordRule
from gateway.domain.secrets import Secret
from gateway.domain.users import FORMER_PASSWORD, PASSWORD, Credential
from gateway.password_policies import PasswordRefused
from gateway.storage.realm_texts import FilePasswordBlacklists
from gateway.storage.sql.database import SqlDatabase
from tests.support.operators import PasswordSetter
from tests.support.password_logins import (
    ALGORITHM,
    ITERATIONS,
    Gateway,
    guarded_realm,
    password_credential,
    store_user,
)
from tests.support.password_logins import PASSWORD as FIRST
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW

REALM = guarded_realm(more=(PasswordRule("passwordHistory", "3"),))


class InterruptedHasher(PooledPasswordHasher):
    """The product's hasher, which lets others go first: one of `meanwhile` for each hash."""

    def __init__(self) -> None:
        super().__init__(1)
        self.meanwhile: list[Callable[[], Awaitable[object]]] = []

    async def hash(
        self,
        password: Secret,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> tuple[str, str]:
        """Hash, while somebody else does something."""
        if self.meanwhile:
            await self.meanwhile.pop(0)()
        return await super().hash(
            password, realm_id=realm_id, algorithm=algorithm, iterations=iterations
        )


class Setting:
    """Two operators who set the password of one user; the first is interrupted."""

    def __init__(self, database: SqlDatabase, gateway: Gateway, folder: Path) -> None:
        self.database = database
        self.gateway = gateway
        self.slow = InterruptedHasher()
        self.folder = folder
        self.first, self.second = self._operator(self.slow), self._operator(gateway.hasher)

    def _operator(self, hasher: PooledPasswordHasher) -> PasswordSetter:
        return PasswordSetter(
            self.database,
            hasher,
            self.gateway.clock,
            self.gateway.invalidation,
            FilePasswordBlacklists(self.folder),
        )

    async def set(self, text: str, meanwhile: Callable[[], Awaitable[object]]) -> None:
        """Set the password while something else happens."""
        self.slow.meanwhile = [meanwhile]
        await self.first.set("demo", "alice-uuid", text)

    async def set_by_another(self, text: str) -> None:
        """Set the password without being interrupted."""
        await self.second.set("demo", "alice-uuid", text)

    async def held(self, kind: str) -> list[Credential]:
        """Return the credentials of alice of a kind."""
        async with self.database.read() as stores:
            return [
                one
                for one in await stores.users.credentials("demo-id", "alice-uuid")
                if one.type == kind
            ]

    async def matches(self, texts: Sequence[str], kind: str) -> bool:
        """Tell whether the credentials of a kind are just these passwords."""
        held = await self.held(kind)
        found = {
            text
            for text in texts
            for one in held
            if await self.gateway.hasher.check_password(
                Secret(text),
                (one.credential_data, one.secret_data),
                realm_id="demo-id",
                algorithm=ALGORITHM,
                iterations=ITERATIONS,
            )
        }
        return len(held) == len(texts) and found == set(texts)


@pytest.fixture
async def setting(
    database: SqlDatabase, redis_server: RedisServer, tmp_path: Path
) -> AsyncIterator[Setting]:
    async with database.write() as stores:
        await stores.realms.add(REALM)
    await store_user(database)
    gateway = Gateway(database, redis_server, SetClock(NOW))
    made = Setting(database, gateway, tmp_path)
    yield made
    made.slow.close()
    await gateway.close()


async def test_two_passwords_set_at_once_are_both_remembered(setting: Setting) -> None:
    await setting.set("the first's", lambda: setting.set_by_another("the second's"))
    assert await setting.matches(["the first's"], PASSWORD)
    assert await setting.matches([FIRST.reveal(), "the second's"], FORMER_PASSWORD)


async def test_a_password_set_concurrently_may_not_be_set_again(
    setting: Setting,
) -> None:
    with pytest.raises(PasswordRefused, match="last 3 passwords"):
        await setting.set("the same", lambda: setting.set_by_another("the same"))
    assert await setting.matches([FIRST.reveal()], FORMER_PASSWORD)


async def test_a_concurrently_rehashed_password_is_the_remembered_one(
    setting: Setting, database: SqlDatabase
) -> None:
    (before,) = await setting.held(PASSWORD)
    anew = password_credential(iterations=ITERATIONS + 1)
    stronger = replace(before, credential_data=anew.credential_data, secret_data=anew.secret_data)

    async def hash_anew() -> None:
        async with database.write() as stores:
            assert await stores.users.exchange_credential("demo-id", before, stronger)

    await setting.set("another one", hash_anew)
    (former,) = await setting.held(FORMER_PASSWORD)
    assert former.secret_data == stronger.secret_data


async def test_rules_that_were_changed_meanwhile_hold(
    setting: Setting, database: SqlDatabase
) -> None:
    stricter = guarded_realm(more=(PasswordRule("length", "16"),))

    async def change_rules() -> None:
        async with database.write() as stores:
            await stores.realms.replace(stricter)

    with pytest.raises(PasswordRefused, match="minimum length 16"):
        await setting.set("too short", change_rules)
    assert await setting.matches([FIRST.reveal()], PASSWORD)


async def test_another_new_credential_causes_no_repetition(
    setting: Setting, database: SqlDatabase
) -> None:
    async def add_code() -> None:
        async with database.write() as stores:
            await stores.users.set_credential(
                "demo-id", replace(password_credential(), id="code", type="otp")
            )

    done: list[str] = []

    async def note() -> None:
        done.append("a second hash")

    setting.slow.meanwhile = [add_code, note]
    await setting.first.set("demo", "alice-uuid", "another one")
    assert done == []


async def test_who_is_always_too_late_gives_up_after_a_while(setting: Setting) -> None:
    names = (f"password number {count}" for count in range(100))
    setting.slow.meanwhile = [lambda: setting.set_by_another(next(names))] * 100
    with pytest.raises(Overloaded):
        await setting.first.set("demo", "alice-uuid", "another one")
