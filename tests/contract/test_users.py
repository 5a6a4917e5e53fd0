"""Users and credentials in the database."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.admin.access.lookups import ListingPage
from gateway.admin.access.rights import AdminRole, Rights
from gateway.admin.changes import Changes
from gateway.admin.users.listing import UserListing
from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.users import UserQuery
from gateway.storage.sql.database import SqlDatabase
from tests.support.realm_imports import Messages
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, client, credential, realm, store_realms, user


async def test_a_user_comes_back_as_stored(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    stored = user(
        "alice",
        email="alice@example.test",
        email_verified=True,
        first_name="Alice",
        last_name="O'Neil",
        attributes={"z": ("1", "2", "1"), "a": ("\ud800 \0", "x" * 5000), "none": ()},
        required_actions=("UPDATE_PASSWORD", "VERIFY_EMAIL"),
        not_before=1_700_000_000,
        document={"federationLink": "ldap", "unknown": {"b": 1, "a": 2}},
    )
    async with database.write() as stores:
        await stores.users.add(stored)
    async with database.read() as stores:
        found = await stores.users.find_by_username("demo-id", "alice")
    assert found == stored
    assert list(found.attributes) == ["z", "a", "none"]
    assert list(found.document["unknown"]) == ["b", "a"]


async def test_a_username_is_unique_in_its_realm_only(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.users.add(user("alice", of="demo"))
        await stores.users.add(user("alice", of="other"))
    with pytest.raises(AlreadyExists, match=r"^User exists with same username$"):
        async with database.write() as stores:
            await stores.users.add(user("alice", of="demo", id="another"))


async def test_a_user_is_replaced_in_its_own_realm_only(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.users.add(user("alice", of="demo"))
        await stores.users.add(user("alice", of="other"))
        await stores.users.replace(user("alice", of="demo", enabled=False))
    async with database.read() as stores:
        ours = await stores.users.find_by_username("demo-id", "alice")
        theirs = await stores.users.find_by_username("other-id", "alice")
    assert ours is not None
    assert theirs is not None
    assert (ours.enabled, theirs.enabled) == (False, True)
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.users.replace(user("ghost"))


async def test_users_are_listed_by_name_and_realm(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for name in ("zoe", "bob"):
            await stores.users.add(user(name, of="demo"))
        await stores.users.add(user("theirs", of="other"))
    async with database.read() as stores:
        assert [found.username for found in await stores.users.list_users("demo-id")] == [
            "bob",
            "zoe",
        ]
        assert await stores.users.known("demo-id", ["bob", "theirs"]) == {"bob"}
        named = await stores.users.named("demo-id", ["bob", "theirs", "ghost"])
        assert [found.username for found in named] == ["bob"]


async def test_a_service_account_is_found_by_its_client(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for realm in ("demo", "other"):
            await stores.clients.add(client("device", of=realm))
        await stores.users.add(user("service-account-device", service_account_client="device-uuid"))
    async with database.read() as stores:
        found = await stores.users.find_service_account("demo-id", "device-uuid")
        assert await stores.users.find_service_account("other-id", "device-uuid") is None
    assert found is not None
    assert found.username == "service-account-device"


async def test_a_service_account_needs_a_client_of_its_own_realm(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.clients.add(client("device", of="demo"))
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.users.add(user("x", of="other", service_account_client="device-uuid"))


async def test_credentials_come_back_by_priority(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    first = credential(priority=10)
    second = credential(type="otp", priority=20)
    async with database.write() as stores:
        await stores.users.add(user("alice"))
        await stores.users.set_credential("demo-id", second)
        await stores.users.set_credential("demo-id", first)
    async with database.read() as stores:
        assert await stores.users.credentials("demo-id", "alice-uuid") == (first, second)


async def test_a_credential_is_overwritten_by_its_id(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    old = credential(secret_data="old")
    new = replace(old, secret_data="new", credential_data="other", priority=1)
    async with database.write() as stores:
        await stores.users.add(user("alice"))
        await stores.users.set_credential("demo-id", old)
        await stores.users.set_credential("demo-id", new)
    async with database.read() as stores:
        assert await stores.users.credentials("demo-id", "alice-uuid") == (new,)


async def test_another_users_credential_is_not_overwritten(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    owned = credential("alice-uuid")
    async with database.write() as stores:
        await stores.users.add(user("alice"))
        await stores.users.add(user("bob"))
        await stores.users.set_credential("demo-id", owned)
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.users.set_credential("demo-id", replace(owned, user_id="bob-uuid"))
    async with database.read() as stores:
        assert await stores.users.credentials("demo-id", "alice-uuid") == (owned,)
        assert await stores.users.credentials("demo-id", "bob-uuid") == ()


async def test_credentials_of_another_realm_are_out_of_reach(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.users.add(user("alice", of="demo"))
        held = credential()
        await stores.users.set_credential("demo-id", held)
        await stores.users.remove_credential("other-id", held)
        assert not await stores.users.exchange_credential(
            "other-id", held, replace(held, secret_data="exchanged")
        )
    async with database.read() as stores:
        assert await stores.users.credentials("other-id", "alice-uuid") == ()
        assert await stores.users.credentials("demo-id", "alice-uuid") == (held,)
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.users.set_credential("other-id", credential())


async def test_who_has_a_one_time_password_is_told_on_every_page(database: SqlDatabase) -> None:
    """Of this realm, and of no other kind of credential."""
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for name, kind in (("alice", "otp"), ("bob", "password"), ("carol", "otp")):
            await stores.users.add(user(name))
            await stores.users.add(user(name, of="other"))
            held = credential(f"{name}-uuid", type=kind)
            await stores.users.set_credential("other-id" if name == "carol" else "demo-id", held)
    rights = Rights(frozenset({AdminRole.VIEW_USERS}))
    listing, demo = UserListing(Changes(database, SetClock(NOW), Messages())), realm("demo")
    users = await listing.list_users(demo, rights, UserQuery(), ListingPage(), brief=False)
    assert {found["username"]: found["totp"] for found in users} == {
        "alice": True,
        "bob": False,
        "carol": False,
    }
    assert (await listing.get_user_document(demo, rights, "alice-uuid"))["totp"] is True
    assert (await listing.get_user_document(demo, rights, "carol-uuid"))["totp"] is False


async def test_the_store_alone_says_when_a_user_was_added(database: SqlDatabase) -> None:
    """An import may name any date of creation, and a change of the user names none."""
    await store_realms(database, "demo")
    long_ago = NOW - timedelta(days=900)
    made = user(created_at=long_ago, added_at=long_ago)
    held = credential(created_at=long_ago)
    async with database.write() as stores:
        await stores.users.add(made)
        await stores.users.set_credential(made.realm_id, held)
    async with database.write() as stores:
        await stores.users.replace(replace(made, email="new@example.test"))
        stronger = replace(held, secret_data='{"value":"stronger"}')
        assert await stores.users.exchange_credential(made.realm_id, held, stronger)
    async with database.read() as stores:
        found = await stores.users.find_by_id(made.realm_id, made.id)
        (kept,) = await stores.users.credentials(made.realm_id, made.id)
    assert found is not None
    assert (found.created_at, found.added_at, found.exists_since) == (long_ago, NOW, NOW)
    assert (kept.created_at, kept.set_at, kept.valid_since) == (long_ago, NOW, NOW)
    assert kept.aged_since == long_ago
