"""Groups in the database: their tree, their members, and the roles they bring."""

import pytest

from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.roles import EffectiveRoles
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, group, role, store_realms, user

_TREE = (
    group("staff", attributes={"z": ("1", "2"), "a": ("\ud800 \0",), "none": ()}),
    group("berlin", "/staff"),
    group("night", "/staff/berlin"),
    group("guests"),
)


@pytest.fixture
async def tree(database: SqlDatabase) -> SqlDatabase:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for one in _TREE:
            await stores.groups.add(one)
        for realm in ("demo", "other"):
            await stores.users.add(user("alice", of=realm))
            await stores.users.add(user("bob", of=realm))
            await stores.clients.add(client("device", of=realm))
            for name in ("a", "b", "c"):
                await stores.roles.add(role(name, of=realm))
            await stores.roles.add(role("use", of=realm, client="device-uuid"))
    return database


async def test_groups_come_back_by_path(tree: SqlDatabase) -> None:
    staff, berlin, night, guests = _TREE
    async with tree.read() as stores:
        listed = await stores.groups.list_groups("demo-id")
        assert listed == (guests, staff, berlin, night)
        assert list(listed[1].attributes) == ["z", "a", "none"]
        assert await stores.groups.list_groups("other-id") == ()


async def test_a_deep_tree_has_its_paths(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    for first in range(0, 1200, 50):  # a transaction has a limit of time
        async with database.write() as stores:
            for number in range(first, first + 50):
                await stores.groups.add(group(f"g{number}", f"/g{number - 1}" if number else ""))
    async with database.read() as stores:
        assert (await stores.groups.list_groups("demo-id"))[-1].path.count("/") == 1200


async def test_a_name_is_unique_among_siblings(tree: SqlDatabase) -> None:
    async with tree.write() as stores:
        await stores.groups.add(group("berlin", "/guests", id="of-guests"))
        await stores.groups.add(group("berlin", id="at-top"))
        await stores.groups.add(group("staff", of="other"))
    for taken, message in (
        (group("staff", id="x"), r"^Top level group named 'staff' already exists\.$"),
        (group("berlin", "/staff", id="x"), r"^Sibling group named 'berlin' already exists\.$"),
    ):
        with pytest.raises(AlreadyExists, match=message):
            async with tree.write() as stores:
                await stores.groups.add(taken)


async def test_a_parent_is_another_group_of_the_same_realm(tree: SqlDatabase) -> None:
    for wrong in (group("x", "/staff", of="other"), group("x", "/ghost"), group("x", "/x")):
        with pytest.raises(InvalidInput):
            async with tree.write() as stores:
                await stores.groups.add(wrong)


async def test_a_user_is_in_joined_groups_but_not_in_their_parents(
    tree: SqlDatabase,
) -> None:
    staff, _, night, _ = _TREE
    async with tree.write() as stores:
        for joined in (night, staff, night):
            await stores.groups.join("demo-id", "alice-uuid", joined.id)
        await stores.groups.join("demo-id", "bob-uuid", night.id)
    async with tree.read() as stores:
        assert await stores.groups.of_user("demo-id", "alice-uuid") == (staff, night)
        assert await stores.groups.of_user("demo-id", "bob-uuid") == (night,)
        assert await stores.groups.of_user("other-id", "alice-uuid") == ()


async def test_nobody_joins_a_group_of_another_realm(tree: SqlDatabase) -> None:
    for realm, group_id in (("other-id", "staff-group"), ("demo-id", "ghost")):
        with pytest.raises(InvalidInput):
            async with tree.write() as stores:
                await stores.groups.join(realm, "alice-uuid", group_id)


async def test_a_group_brings_its_roles_and_those_of_its_parents(tree: SqlDatabase) -> None:
    """With their composites, once each, and never those of a child or a sibling."""
    async with tree.write() as stores:
        await stores.roles.set_composites("demo-id", "b-role", ["use-role"])
        await stores.groups.grant("demo-id", "staff-group", ["b-role", "a-role"])
        await stores.groups.grant("demo-id", "staff-group", ["a-role"])
        await stores.groups.grant("demo-id", "staff-group", [])
        await stores.groups.grant("demo-id", "night-group", ["c-role"])
        await stores.groups.join("demo-id", "alice-uuid", "night-group")
        await stores.groups.join("demo-id", "bob-uuid", "berlin-group")
        await stores.roles.grant("demo-id", "bob-uuid", ["a-role"])
    device = (("device", ("use",)),)
    async with tree.read() as stores:
        effective = stores.roles.effective
        assert await effective("demo-id", "alice-uuid") == EffectiveRoles(("a", "b", "c"), device)
        assert await effective("demo-id", "bob-uuid") == EffectiveRoles(("a", "b"), device)
        assert await stores.roles.granted("demo-id", "alice-uuid") == frozenset()
        assert await effective("other-id", "alice-uuid") == EffectiveRoles()


async def test_roles_by_groups_do_not_cross_realms(tree: SqlDatabase) -> None:
    """The same ids stand in both realms; what the other's group brings means nothing here."""
    async with tree.write() as stores:
        await stores.groups.add(group("staff", of="other"))
        await stores.groups.add(group("theirs", of="other", id="guests-group"))
        await stores.groups.add(group("else", of="other", id="berlin-group", parent="guests-group"))
        await stores.groups.grant("demo-id", "guests-group", ["c-role"])
        await stores.groups.grant("other-id", "guests-group", ["b-role"])
        await stores.groups.join("demo-id", "alice-uuid", "berlin-group")
        await stores.groups.grant("demo-id", "berlin-group", ["a-role"])
        await stores.groups.grant("other-id", "staff-group", ["b-role"])
        await stores.groups.grant("other-id", "berlin-group", ["c-role"])
        await stores.groups.join("other-id", "bob-uuid", "berlin-group")
    async with tree.read() as stores:
        assert await stores.groups.of_user("demo-id", "alice-uuid") == (_TREE[1],)
        assert [found.path for found in await stores.groups.of_user("other-id", "bob-uuid")] == [
            "/theirs/else"
        ]
        assert await stores.roles.effective("demo-id", "alice-uuid") == EffectiveRoles(("a",))
        assert await stores.roles.effective("demo-id", "bob-uuid") == EffectiveRoles()
        assert await stores.roles.effective("other-id", "bob-uuid") == EffectiveRoles(("b", "c"))
    for realm, role_id in (("demo-id", "ghost-role"), ("third-id", "a-role")):
        with pytest.raises(InvalidInput):
            async with tree.write() as stores:
                await stores.groups.grant(realm, "staff-group", [role_id])
