"""Of two who take a name or an address at the same time one is refused: both databases."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from gateway.authentication.unique_names import require_free_names
from gateway.domain.errors import AlreadyExists
from gateway.domain.realm import LoginSettings, Realm
from gateway.domain.users import User
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.stored_values import realm, store_realms, user

REALM = realm("demo")
DUPLICATES = realm("demo", login=LoginSettings(duplicate_emails_allowed=True))
NAMES_ALONE = realm("demo", login=LoginSettings(login_with_email_allowed=False))
NAME, ADDRESS = "User exists with same username", "User exists with same email"


async def add(database: SqlDatabase, new: User, of: Realm = REALM) -> str | None:
    """Add a user as whoever makes one does; return the refusal."""
    try:
        async with database.write() as stores:
            await require_free_names(stores, of, new)
            await stores.users.add(new)
    except AlreadyExists as refusal:
        return str(refusal)
    return None


async def rename(
    database: SqlDatabase, before: User, of: Realm = REALM, **fields: str
) -> str | None:
    after = replace(before, **fields)  # type: ignore[arg-type] # names
    try:
        async with database.write() as stores:
            await require_free_names(stores, of, after, before)
            await stores.users.replace(after)
    except AlreadyExists as refusal:
        return str(refusal)
    return None


PAIRS = {
    "name": (user("bob"), user("bob", id="other"), NAME),
    "address": (user("bob", email="x@demo.test"), user("ann", email="x@demo.test"), ADDRESS),
    "name that is an address": (
        user("bob", email="x@demo.test"),
        user("x@demo.test", id="other"),
        NAME,
    ),
    "address that is a name": (
        user("x@demo.test", id="other"),
        user("bob", email="x@demo.test"),
        ADDRESS,
    ),
}


@pytest.mark.parametrize("kind", PAIRS)
async def test_the_second_waits_for_the_first_and_is_refused(
    kind: str,
    database: SqlDatabase,
    other_gateway: SqlDatabase,
    somebody_waits: Callable[[], bool],
) -> None:
    first, second, refusal = PAIRS[kind]
    await store_realms(database, "demo")
    async with database.write() as stores:
        await require_free_names(stores, REALM, first)
        await stores.users.add(first)
        late = asyncio.create_task(add(other_gateway, second))
        await eventually(lambda: somebody_waits() or late.done())
    assert await late == refusal


async def test_the_second_gets_the_name_where_the_first_gives_up(
    database: SqlDatabase, other_gateway: SqlDatabase, somebody_waits: Callable[[], bool]
) -> None:
    await store_realms(database, "demo")
    bob = user("bob", email="x@demo.test")
    with suppress(RuntimeError):
        async with database.write() as stores:
            await require_free_names(stores, REALM, bob)
            await stores.users.add(bob)
            late = asyncio.create_task(add(other_gateway, replace(bob, id="late")))
            await eventually(lambda: somebody_waits() or late.done())
            raise RuntimeError
    assert await late is None


async def test_a_change_to_what_another_has_is_refused(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    ann = user("ann", email="ann@demo.test")
    for each in (ann, user("bob", email="bob@demo.test"), user("carl@demo.test", id="carl")):
        assert await add(database, each) is None
    assert await rename(database, ann, username="bob") == NAME
    assert await rename(database, ann, username="bob@demo.test") == NAME
    assert await rename(database, ann, email="bob@demo.test") == ADDRESS
    assert await rename(database, ann, email="carl@demo.test") == ADDRESS
    assert await rename(database, ann, username="ann@demo.test") is None
    assert await rename(database, ann, email="free@demo.test") is None


async def test_what_a_user_has_already_is_not_looked_at(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    ann, bob = user("ann", email="x@demo.test"), user("bob", email="x@demo.test")
    assert await add(database, ann, DUPLICATES) is None
    assert await add(database, bob, DUPLICATES) is None
    assert await rename(database, bob, username="rob") is None


async def test_addresses_are_shared_where_the_realm_allows_it(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    assert await add(database, user("ann", email="x@demo.test"), DUPLICATES) is None
    assert await add(database, user("bob", email="x@demo.test"), DUPLICATES) is None
    assert await add(database, user("x@demo.test", id="named"), DUPLICATES) is None
    assert await add(database, user("ann", id="again"), DUPLICATES) == NAME


async def test_a_name_may_be_anothers_address_without_address_sign_in(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo")
    assert await add(database, user("ann", email="x@demo.test"), NAMES_ALONE) is None
    assert await add(database, user("x@demo.test", id="named"), NAMES_ALONE) is None


async def test_names_of_another_realm_are_free(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    assert await add(database, user("ann", email="x@demo.test")) is None
    assert await add(database, user("ann", of="other", email="x@demo.test"), realm("other")) is None


async def test_what_a_removed_user_had_is_gone_with_it(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    ann = user("ann", email="x@demo.test", attributes={"a": ("1",)})
    assert await add(database, ann) is None
    async with database.write() as stores:
        assert not await stores.users.remove_user("other-id", ann.id)
        assert await stores.users.remove_user("demo-id", ann.id)
        assert not await stores.users.remove_user("demo-id", ann.id)
    async with database.read() as stores:
        assert await stores.users.find_by_id("demo-id", ann.id) is None
    assert await add(database, ann) is None
