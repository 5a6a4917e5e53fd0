"""Clients by their ids: found, changed alone, removed with all that is theirs."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.groups import Group
from gateway.domain.roles import EffectiveRoles
from gateway.domain.secrets import Secret
from gateway.domain.sessions import ClientSession, UserSession
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.stored_values import NOW, client, role, store_realms, user

UNHOLDABLE = ["\0", "\ud800", "x" * 256]


async def store_clients(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.clients.add(client("device", secret=Secret("s3cret")))
        await stores.clients.add(client("device", of="other", secret=Secret("theirs")))
        await stores.clients.add(client("plain"))
        for realm in ("demo", "other"):
            account = user("service-account-device", of=realm)
            await stores.users.add(replace(account, service_account_client="device-uuid"))
        await stores.users.add(user("alice"))


@pytest.mark.parametrize("method", ["find_by_id", "get_for_update"])
async def test_a_client_is_found_in_its_own_realm(database: SqlDatabase, method: str) -> None:
    await store_clients(database)
    async with database.write() as stores:
        find = getattr(stores.clients, method)
        ours, theirs = await find("demo-id", "device-uuid"), await find("other-id", "device-uuid")
        assert (ours.secret, theirs.secret) == (Secret("s3cret"), Secret("theirs"))
        assert await find("other-id", "plain-uuid") is None
        assert [await find("demo-id", client_id) for client_id in UNHOLDABLE] == [None] * 3


async def test_concurrent_updates_of_a_client_both_see_the_first(
    database: SqlDatabase, other_gateway: SqlDatabase, somebody_waits: Callable[[], bool]
) -> None:
    await store_clients(database)

    async def rename() -> str:
        async with other_gateway.write() as stores:
            found = await stores.clients.get_for_update("demo-id", "plain-uuid")
            assert found is not None
            return found.client_id

    async with database.write() as stores:
        found = await stores.clients.get_for_update("demo-id", "plain-uuid")
        assert found is not None
        renaming = asyncio.create_task(rename())
        await eventually(lambda: somebody_waits() or renaming.done())
        await stores.clients.replace(replace(found, client_id="renamed"))
    assert await renaming == "renamed"


async def test_a_name_that_is_taken_is_refused_to_who_is_renamed(database: SqlDatabase) -> None:
    await store_clients(database)
    async with database.read() as stores:
        found = await stores.clients.find_by_id("demo-id", "device-uuid")
    assert found is not None
    with pytest.raises(AlreadyExists, match=r"^Client plain already exists$"):
        async with database.write() as stores:
            await stores.clients.replace(replace(found, client_id="plain"))


async def test_a_deleted_client_takes_its_roles_account_and_sessions(
    database: SqlDatabase,
) -> None:
    await store_clients(database)
    part = ClientSession("device-uuid", NOW, NOW)
    session = UserSession(
        "session", "demo-id", "alice-uuid", "alice", "::1", NOW, NOW, clients={part.client: part}
    )
    async with database.write() as stores:
        for realm in ("demo", "other"):
            await stores.roles.add(role("reader", of=realm, client="device-uuid"))
        await stores.offline_sessions.add(session, NOW)
        assert await stores.clients.remove_client("demo-id", "device-uuid")
        assert not await stores.clients.remove_client("demo-id", "device-uuid")
    async with database.read() as stores:
        assert await stores.clients.find_by_id("demo-id", "device-uuid") is None
        assert await stores.users.find_service_account("demo-id", "device-uuid") is None
        assert await stores.roles.list_roles("demo-id") == ()
        assert await stores.offline_sessions.count_of_client("demo-id", "device-uuid") == 0
        assert await stores.clients.find_by_id("other-id", "device-uuid") is not None
        assert await stores.users.find_service_account("other-id", "device-uuid") is not None
        assert len(await stores.roles.list_roles("other-id")) == 1
        assert await stores.users.find_by_username("demo-id", "alice") is not None


@pytest.mark.parametrize("name", UNHOLDABLE)
async def test_no_client_has_an_id_that_no_database_holds(database: SqlDatabase, name: str) -> None:
    await store_clients(database)
    async with database.write() as stores:
        assert not await stores.clients.remove_client("demo-id", name)


async def test_roles_of_service_accounts_are_found_for_many_clients(
    database: SqlDatabase,
) -> None:
    await store_clients(database)
    account = "service-account-device-uuid"
    async with database.write() as stores:
        await stores.clients.add(client("idle"))
        idle = user("service-account-idle", service_account_client="idle-uuid")
        await stores.users.add(idle)
        for name in ("direct", "inner", "of-group", "of-parent", "not-held"):
            await stores.roles.add(role(name, client="plain-uuid" if name == "inner" else None))
        await stores.roles.set_composites("demo-id", "direct-role", ["inner-role"])
        await stores.roles.set_composites("demo-id", "inner-role", ["direct-role"])
        await stores.roles.grant("demo-id", account, ["direct-role"])
        await stores.groups.add(Group("parent-id", "demo-id", "parent", "/parent"))
        child = Group("child-id", "demo-id", "child", "/parent/child", parent="parent-id")
        await stores.groups.add(child)
        await stores.groups.grant("demo-id", "parent-id", ["of-parent-role"])
        await stores.groups.grant("demo-id", "child-id", ["of-group-role"])
        await stores.groups.join("demo-id", account, "child-id")
        await stores.roles.add(role("not-held", of="other"))
        await stores.roles.grant("other-id", account, ["not-held-role"])
    async with database.read() as stores:
        many = ["device-uuid", "plain-uuid", "idle-uuid", "\0", *map(str, range(2_500))]
        found = await stores.clients.account_roles("demo-id", many)
        one = await stores.roles.effective("demo-id", account)
        theirs = await stores.clients.account_roles("other-id", many)
    assert found == {"device-uuid": one, "idle-uuid": EffectiveRoles()}
    assert one == EffectiveRoles(("direct", "of-group", "of-parent"), (("plain", ("inner",)),))
    assert theirs == {"device-uuid": EffectiveRoles(("not-held",))}


async def test_only_the_service_account_of_the_realm_is_removed(database: SqlDatabase) -> None:
    await store_clients(database)
    async with database.write() as stores:
        await stores.clients.remove_service_account("demo-id", "device-uuid")
        await stores.clients.remove_service_account("demo-id", "plain-uuid")
    async with database.read() as stores:
        assert await stores.users.find_service_account("demo-id", "device-uuid") is None
        assert await stores.users.find_service_account("other-id", "device-uuid") is not None
        assert await stores.clients.find_by_id("demo-id", "device-uuid") is not None
        assert await stores.users.find_by_username("demo-id", "alice") is not None


async def test_one_registration_token_of_a_client_is_believed(database: SqlDatabase) -> None:
    await store_clients(database)
    async with database.write() as stores:
        assert await stores.clients.registration_token("demo-id", "device-uuid") is None
        for token in ("first", "second"):
            await stores.clients.set_registration_token("demo-id", "device-uuid", token)
        found = await stores.clients.find_by_id("demo-id", "device-uuid")
        assert found is not None
        await stores.clients.replace(replace(found, client_id="renamed"))
    async with database.write() as stores:
        assert await stores.clients.registration_token("demo-id", "device-uuid") == "second"
        assert await stores.clients.registration_token("other-id", "device-uuid") is None
        await stores.clients.set_registration_token("demo-id", "device-uuid", None)
        assert await stores.clients.registration_token("demo-id", "device-uuid") is None
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.clients.set_registration_token("demo-id", "nobody", "third")
