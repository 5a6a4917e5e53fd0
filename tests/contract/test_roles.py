"""Roles, composites and grants in the database."""

import pytest

from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.ports.users import HolderKind, RoleHolder
from gateway.domain.roles import EffectiveRoles
from gateway.storage.sql.database import SqlDatabase, SqlStores
from tests.support.stored_values import client, role, store_realms, user


async def _store_roles(stores: SqlStores, *names: str, of: str = "demo") -> None:
    for name in names:
        await stores.roles.add(role(name, of=of))


async def test_roles_come_back_with_their_direct_composites(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await _store_roles(stores, "b", "a", "c")
        await _store_roles(stores, "theirs", of="other")
        await stores.roles.set_composites("demo-id", "a-role", ["b-role"])
        await stores.roles.set_composites("demo-id", "b-role", ["c-role"])
    async with database.read() as stores:
        listed = await stores.roles.list_roles("demo-id")
    assert listed == (
        role("a", composites=frozenset({"b-role"})),
        role("b", composites=frozenset({"c-role"})),
        role("c"),
    )


async def test_composites_are_replaced(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await _store_roles(stores, "a", "b", "c")
        await stores.roles.set_composites("demo-id", "a-role", ["b-role"])
        await stores.roles.set_composites("demo-id", "a-role", ["c-role", "c-role"])
    async with database.read() as stores:
        assert (await stores.roles.list_roles("demo-id"))[0].composites == {"c-role"}


async def test_role_names_are_unique_in_the_realm_and_in_each_client(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.clients.add(client("one"))
        await stores.clients.add(client("two"))
        await stores.roles.add(role("view"))
        await stores.roles.add(role("view", of="other"))
        await stores.roles.add(role("view", id="of-one", client="one-uuid"))
        await stores.roles.add(role("view", id="of-two", client="two-uuid"))
    for taken in (role("view", id="x"), role("view", id="x", client="one-uuid")):
        with pytest.raises(AlreadyExists, match=r"^Role with name view already exists$"):
            async with database.write() as stores:
                await stores.roles.add(taken)


async def test_effective_roles_follow_composites_to_the_end(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.users.add(user("alice"))
        await stores.clients.add(client("zeta"))
        await stores.clients.add(client("account"))
        await _store_roles(stores, "top", "middle", "apart")
        await stores.roles.add(role("view", client="account-uuid"))
        await stores.roles.add(role("edit", client="account-uuid"))
        await stores.roles.add(role("use", client="zeta-uuid"))
        await stores.roles.set_composites("demo-id", "top-role", ["middle-role", "use-role"])
        await stores.roles.set_composites("demo-id", "middle-role", ["view-role", "edit-role"])
        await stores.roles.grant("demo-id", "alice-uuid", ["top-role"])
    async with database.read() as stores:
        effective = await stores.roles.effective("demo-id", "alice-uuid")
    assert effective == EffectiveRoles(
        realm=("middle", "top"), clients=(("account", ("edit", "view")), ("zeta", ("use",)))
    )


async def test_composites_in_a_circle_come_to_an_end(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.users.add(user("alice"))
        await _store_roles(stores, "a", "b", "c")
        await stores.roles.set_composites("demo-id", "a-role", ["b-role"])
        await stores.roles.set_composites("demo-id", "b-role", ["c-role"])
        await stores.roles.set_composites("demo-id", "c-role", ["a-role", "c-role"])
        await stores.roles.grant("demo-id", "alice-uuid", ["b-role"])
    async with database.read() as stores:
        effective = await stores.roles.effective("demo-id", "alice-uuid")
    assert effective.realm == ("a", "b", "c")


async def test_granting_twice_is_granting_once(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.users.add(user("alice"))
        await _store_roles(stores, "a", "b")
        await stores.roles.grant("demo-id", "alice-uuid", ["a-role"])
        await stores.roles.grant("demo-id", "alice-uuid", ["a-role", "b-role"])
        await stores.roles.grant("demo-id", "alice-uuid", [])
    async with database.read() as stores:
        assert await stores.roles.granted("demo-id", "alice-uuid") == {"a-role", "b-role"}


async def test_composites_that_are_added_leave_the_others_alone(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        for name in ("a", "b", "c"):
            await stores.roles.add(role(name))
        await stores.roles.add_composites("demo-id", "a-role", ["b-role"])
        await stores.roles.add_composites("demo-id", "a-role", ["c-role", "b-role"])
        await stores.roles.add_composites("demo-id", "a-role", [])
    async with database.read() as stores:
        (found,) = (one for one in await stores.roles.list_roles("demo-id") if one.name == "a")
    assert found.composites == {"b-role", "c-role"}


async def test_a_realm_role_is_found_by_name_and_a_client_role_not(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.clients.add(client("device"))
        await stores.roles.add(role("admin"))
        await stores.roles.add(role("own", client="device-uuid"))
    async with database.read() as stores:
        assert await stores.roles.find_realm_role("demo-id", "admin") == role("admin")
        assert await stores.roles.find_realm_role("demo-id", "own") is None
        assert await stores.roles.find_realm_role("other-id", "admin") is None


async def test_what_is_revoked_is_gone_and_the_rest_stays(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for realm in ("demo", "other"):
            await stores.users.add(user("alice", of=realm))
            await _store_roles(stores, "a", "b", of=realm)
            await stores.roles.grant(f"{realm}-id", "alice-uuid", ["a-role", "b-role"])
        alice = RoleHolder(HolderKind.USER, "alice-uuid")
        await stores.role_catalogue.revoke_roles("demo-id", alice, ["a-role", "never-granted"])
        await stores.role_catalogue.revoke_roles("demo-id", alice, [])
    async with database.read() as stores:
        assert await stores.roles.granted("demo-id", "alice-uuid") == {"b-role"}
        assert await stores.roles.granted("other-id", "alice-uuid") == {"a-role", "b-role"}


async def test_grants_do_not_cross_realms(database: SqlDatabase) -> None:
    """The same ids stand in both realms; a grant in one means nothing in the other."""
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for realm in ("demo", "other"):
            await stores.users.add(user("alice", of=realm))
            await stores.clients.add(client("device", of=realm))
            await _store_roles(stores, "a", "b", of=realm)
            await stores.roles.add(role("use", of=realm, client="device-uuid"))
        await stores.roles.set_composites("other-id", "a-role", ["b-role", "use-role"])
        await stores.roles.grant("demo-id", "alice-uuid", ["a-role"])
    async with database.read() as stores:
        assert await stores.roles.granted("other-id", "alice-uuid") == frozenset()
        assert await stores.roles.effective("other-id", "alice-uuid") == EffectiveRoles()
        assert await stores.roles.effective("demo-id", "alice-uuid") == EffectiveRoles(("a",))


async def test_roles_of_another_realm_cannot_be_granted_or_contained(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.users.add(user("alice", of="demo"))
        await _store_roles(stores, "ours", of="demo")
        await _store_roles(stores, "admin", of="other")
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.roles.grant("demo-id", "alice-uuid", ["admin-role"])
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.roles.grant("other-id", "alice-uuid", ["admin-role"])
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.roles.set_composites("demo-id", "ours-role", ["admin-role"])
