"""The look-ups: the same as the repositories tell, in one question, and as of now."""

import asyncio
import re
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from copy import copy
from dataclasses import astuple, replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite

from gateway.domain.errors import StoreUnavailable
from gateway.domain.groups import Group
from gateway.domain.keys import KeyStatus
from gateway.domain.ports.lookups import Found, SignInAccount
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.secrets import Secret
from gateway.storage.sql.address import parse_database_url
from gateway.storage.sql.database import SqlDatabase, SqlStores, create_engines
from gateway.storage.sql.lookup_statements import CHAIN_NAMES, LookupQueries
from gateway.storage.sql.sqlite import SqliteExecutor
from tests.support.deadline import eventually
from tests.support.storage import StoredDatabase
from tests.support.stored_values import (
    NOW,
    client,
    credential,
    key,
    realm,
    realm_with_mail,
    role,
    user,
)

DEVICE = client("device", secret=Secret("canary"), service_accounts_enabled=True)
ACCOUNT = user("service-account-device", service_account_client="device-uuid", not_before=7)
STRANGE = ("", "nobody", "device\0", "\ud800", "x" * 256, "' OR 1=1 --", "DEVICE")

Change = Callable[[SqlStores], Awaitable[None]]


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    """Return a database with a client, its account, a user in groups, and roles for them."""
    async with database.write() as stores:
        await stores.realms.add(realm_with_mail("demo"))
        await stores.realms.add(realm("other"))
        await stores.keys.add(key("kid-1"))
        await stores.keys.add(key("kid-2", created_at=NOW + timedelta(1), retire_at=NOW))
        await stores.clients.add(DEVICE)
        for added in (ACCOUNT, user("alice", attributes={"a": ("b",)})):
            await stores.users.add(added)
        for name in ("reader", "writer", "of-group"):
            await stores.roles.add(role(name))
        await stores.roles.add(role("own", client="device-uuid"))
        await stores.roles.set_composites("demo-id", "writer-role", ["reader-role", "own-role"])
        await stores.roles.grant("demo-id", ACCOUNT.id, ["writer-role"])
        await stores.groups.add(Group("top", "demo-id", "top", "/top"))
        await stores.groups.add(Group("below", "demo-id", "below", "/top/below", parent="top"))
        await stores.groups.join("demo-id", "alice-uuid", "below")
        await stores.groups.grant("demo-id", "top", ["of-group-role"])
    return database


async def test_an_account_comes_with_what_it_can_prove(stored: SqlDatabase) -> None:
    password, code = credential(), credential(type="otp", priority=5)
    async with stored.write() as stores:
        for held in (password, code):
            await stores.users.set_credential("demo-id", held)
        alice = await stores.users.find_by_username("demo-id", "alice")
    assert alice is not None
    assert await stored.lookups.account("demo-id", "alice", None) == SignInAccount(
        alice, (code, password)
    )


async def test_user_names_precede_addresses_which_need_the_option(
    stored: SqlDatabase,
) -> None:
    async with stored.write() as stores:
        await stores.users.add(user("b", email="a@x.test"))
        await stores.users.add(user("c", email="b@x.test"))
        await stores.users.add(user("b@x.test", email="c@x.test"))
    found = {
        (name, address): await stored.lookups.account("demo-id", name, address)
        for name in ("a@x.test", "b@x.test")
        for address in (name, None)
    }
    assert {asked: one and one.user.username for asked, one in found.items()} == {
        ("a@x.test", "a@x.test"): "b",
        ("a@x.test", None): None,
        ("b@x.test", "b@x.test"): "b@x.test",
        ("b@x.test", None): "b@x.test",
    }


async def test_an_account_of_another_realm_is_nobody(stored: SqlDatabase) -> None:
    assert await stored.lookups.account("other-id", "alice", None) is None
    for name in STRANGE:
        assert await stored.lookups.account("demo-id", name, name) is None


async def test_a_realm_comes_as_its_repositories_tell(stored: SqlDatabase) -> None:
    found = await stored.lookups.realm("demo")
    assert found is not None
    async with stored.read() as stores:
        assert found.value.realm == await stores.realms.find_by_name("demo")
        assert found.value.keys == await stores.keys.list_keys("demo-id")
    assert [each.kid for each in found.value.keys] == ["kid-2", "kid-1"]


async def test_a_realm_without_keys_is_found(stored: SqlDatabase) -> None:
    found = await stored.lookups.realm("other")
    assert found is not None
    assert (found.value.realm, found.value.keys) == (realm("other"), ())


async def test_a_client_comes_with_its_account_and_what_that_may_do(stored: SqlDatabase) -> None:
    found = await stored.lookups.client("demo-id", "device")
    assert found is not None
    assert (found.value.client, found.value.service_account) == (DEVICE, ACCOUNT)
    async with stored.read() as stores:
        assert found.value.roles == await stores.roles.effective("demo-id", ACCOUNT.id)
    assert found.value.roles == EffectiveRoles(("reader", "writer"), (("device", ("own",)),))


async def test_an_account_that_its_client_no_longer_uses_is_not_told(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.clients.replace(replace(DEVICE, service_accounts_enabled=False))
    found = await stored.lookups.client("demo-id", "device")
    assert found is not None
    assert (found.value.service_account, found.value.roles) == (None, EffectiveRoles())


async def test_a_client_without_an_account_is_found(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.clients.add(client("plain", service_accounts_enabled=True))
    found = await stored.lookups.client("demo-id", "plain")
    assert found is not None
    assert (found.value.client.client_id, found.value.service_account) == ("plain", None)


async def test_a_user_comes_with_roles_and_paths_of_groups(stored: SqlDatabase) -> None:
    found = await stored.lookups.user("demo-id", "alice-uuid")
    assert found is not None
    async with stored.read() as stores:
        assert found.value.user == await stores.users.find_by_id("demo-id", "alice-uuid")
    assert found.value.roles == EffectiveRoles(("of-group",))
    assert found.value.groups == ("/top/below",)


@pytest.mark.parametrize("name", STRANGE)
async def test_what_is_not_there_is_not_found(stored: SqlDatabase, name: str) -> None:
    assert await stored.lookups.realm(name) is None
    assert await stored.lookups.client("demo-id", name) is None
    assert await stored.lookups.user("demo-id", name) is None
    assert not await stored.lookups.is_revoked("demo-id", name)


async def test_nothing_of_another_realm_is_found(stored: SqlDatabase) -> None:
    assert await stored.lookups.client("other-id", "device") is None
    assert await stored.lookups.user("other-id", "alice-uuid") is None


async def _digests(database: SqlDatabase) -> list[bytes]:
    asked = database.lookups
    found = (
        await asked.realm("demo"),
        await asked.client("demo-id", "device"),
        await asked.user("demo-id", "alice-uuid"),
    )
    return [one.digest for one in found if one is not None]


async def test_what_has_not_changed_comes_back_itself(stored: SqlDatabase) -> None:
    asked = stored.lookups
    of_realm = await asked.realm("demo")
    of_client = await asked.client("demo-id", "device")
    of_user = await asked.user("demo-id", "alice-uuid")
    assert await asked.realm("demo", of_realm) is of_realm
    assert await asked.client("demo-id", "device", of_client) is of_client
    assert await asked.user("demo-id", "alice-uuid", of_user) is of_user


async def _rename(stores: SqlStores) -> None:
    found: Realm | None = await stores.realms.find_by_name("demo")
    assert found is not None
    await stores.realms.replace(replace(found, display_name="changed"))


async def _retire(stores: SqlStores) -> None:
    await stores.keys.replace(key("kid-1", status=KeyStatus.DISABLED))


async def _new_secret(stores: SqlStores) -> None:
    await stores.clients.replace(replace(DEVICE, secret=Secret("rotated")))


async def _disable_client(stores: SqlStores) -> None:
    await stores.clients.replace(replace(DEVICE, enabled=False))


async def _disable_account(stores: SqlStores) -> None:
    await stores.users.replace(replace(ACCOUNT, enabled=False))


async def _take_role(stores: SqlStores) -> None:
    await stores.roles.set_composites("demo-id", "writer-role", [])


async def _disable_user(stores: SqlStores) -> None:
    await stores.users.replace(user("alice", enabled=False))


async def _regroup(stores: SqlStores) -> None:
    await stores.groups.join("demo-id", "alice-uuid", "top")


async def _grant(stores: SqlStores) -> None:
    await stores.roles.grant("demo-id", "alice-uuid", ["reader-role"])


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (_rename, 0),
        (_retire, 0),
        (_new_secret, 1),
        (_disable_client, 1),
        (_disable_account, 1),
        (_take_role, 1),
        (_disable_user, 2),
        (_regroup, 2),
        (_grant, 2),
    ],
)
async def test_every_change_changes_the_digest_of_its_rows_only(
    stored: SqlDatabase, change: Change, changed: int
) -> None:
    before = await _digests(stored)
    async with stored.write() as stores:
        await change(stores)
    after = await _digests(stored)
    assert [before[index] != after[index] for index in range(3)] == [
        index == changed for index in range(3)
    ]


async def test_what_another_gateway_has_committed_is_seen_at_once(
    stored: SqlDatabase, other_gateway: SqlDatabase
) -> None:
    for number in range(20):
        assert not await other_gateway.lookups.is_revoked("demo-id", f"jti-{number}")
        async with stored.write() as stores:
            await stores.revocations.revoke("demo-id", f"jti-{number}", NOW)
        assert await other_gateway.lookups.is_revoked("demo-id", f"jti-{number}")


async def test_each_of_many_who_ask_at_once_gets_its_own_answer(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        for number in range(0, 200, 3):
            await stores.revocations.revoke("demo-id", f"jti-{number}", NOW)
    answers = await asyncio.gather(
        *(stored.lookups.is_revoked("demo-id", f"jti-{number}") for number in range(200))
    )
    assert answers == [number % 3 == 0 for number in range(200)]


async def test_one_who_gives_up_leaves_the_others_their_answers(stored: SqlDatabase) -> None:
    asking = [asyncio.create_task(stored.lookups.client("demo-id", "device")) for _ in range(20)]
    await asyncio.sleep(0)
    for given_up in asking[::2]:
        given_up.cancel()
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(answer, Found) for answer in answers[1::2])
    assert await stored.lookups.realm("demo") is not None


async def test_queries_work_again_after_connections_were_closed(
    stored: SqlDatabase,
) -> None:
    assert await stored.lookups.realm("demo") is not None
    await stored.dispose()
    assert await stored.lookups.realm("demo") is not None


class SlowDisk:
    """Opens a database in memory, as soon as the disk answers."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.opened = 0

    def open(self) -> sqlite3.Connection:
        """Wait for the disk."""
        self.answers.wait(10)
        self.opened += 1
        made = sqlite3.connect(":memory:")
        made.execute("CREATE TABLE revocations (realm_id, token_id)")
        return made


@pytest.fixture
async def disk() -> AsyncIterator[SlowDisk]:
    made = SlowDisk()
    yield made
    made.answers.set()


async def test_a_hanging_disk_delays_callers_up_to_the_limit(
    disk: SlowDisk,
) -> None:
    """Who asks while it is late is refused at once; it is used again when it comes back."""
    asked = SqliteExecutor(disk.open, timedelta(milliseconds=50))
    question = LookupQueries.of(sqlite.dialect()).revocation
    arguments = question.arguments(realm_id="demo-id", name="jti")
    refused = await asyncio.gather(
        *(asked.execute(question, arguments) for _ in range(5)), return_exceptions=True
    )
    assert {type(each) for each in refused} == {StoreUnavailable}
    with pytest.raises(StoreUnavailable):
        await asked.execute(question, arguments)
    disk.answers.set()
    await eventually(lambda: not asked.is_late)
    assert not await asked.execute(question, arguments)
    await asked.dispose()


async def test_after_a_failure_the_connection_is_made_anew(disk: SlowDisk) -> None:
    disk.answers.set()
    asked = SqliteExecutor(disk.open, timedelta(seconds=5))
    questions = LookupQueries.of(sqlite.dialect())
    arguments = questions.revocation.arguments(realm_id="demo-id", name="jti")
    assert not await asked.execute(questions.revocation, arguments)
    assert not await asked.execute(questions.revocation, arguments)
    assert disk.opened == 1
    with pytest.raises(StoreUnavailable):
        await asked.execute(questions.realm, questions.realm.arguments(name="not in this database"))
    assert not await asked.execute(questions.revocation, arguments)
    assert disk.opened == 2
    await asked.dispose()
    await asked.dispose()


@pytest.mark.parametrize("poison", [2**64, object(), "\ud800"])
async def test_a_value_that_the_driver_cannot_take_ends_no_thread(
    disk: SlowDisk, poison: object
) -> None:
    disk.answers.set()
    asked = SqliteExecutor(disk.open, timedelta(seconds=5))
    question = LookupQueries.of(sqlite.dialect()).revocation
    with pytest.raises(StoreUnavailable):
        await asked.execute(question, ("demo-id", poison))
    assert not await asked.execute(question, ("demo-id", "jti"))
    await asked.dispose()


async def test_the_connection_for_questions_cannot_write(
    stored: SqlDatabase, stored_database: StoredDatabase
) -> None:
    """Whatever a question says, it changes nothing."""
    engines = create_engines(parse_database_url(stored_database.url))
    question = copy(LookupQueries.of(engines.reader.dialect).revocation)
    question.text = "DELETE FROM realms"
    (refused,) = await asyncio.gather(
        engines.query_executor.execute(question, ()), return_exceptions=True
    )
    await engines.dispose()
    assert isinstance(refused, StoreUnavailable)
    assert await stored.lookups.realm("demo") is not None


def test_no_question_walks_through_a_realm(sqlite_template: Path) -> None:
    """Performance: a look-up costs the same among ten users and among a million.

    Which clients are always listed is asked once after a change of the realm's clients.
    """
    steps, queries = [], LookupQueries.of(sqlite.dialect())
    with closing(sqlite3.connect(sqlite_template)) as connection:
        for question in astuple(queries):
            if question.text == queries.always_listed.text:
                continue
            chain = dict.fromkeys(CHAIN_NAMES, "n")
            arguments = question.arguments(
                realm_id="r", name="n", address="a", key="n", address_key="a", change=0, **chain
            )
            plan = connection.execute(f"EXPLAIN QUERY PLAN {question.text}", arguments)
            steps += [step for *_, step in plan]
    large = "users|clients|credentials|revocations|group_members|user_roles"
    walks = [step for step in steps if re.match(rf"(SCAN|SEARCH) ({large})\b(?!.*AND)", step)]
    assert sum("SEARCH" in step for step in steps) > 10
    assert walks == []
