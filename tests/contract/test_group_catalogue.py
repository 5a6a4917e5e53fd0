"""Groups as administrators look them up: pages, searches, paths, and moving, on both databases."""

import pytest

from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.ports.users import GroupQuery
from gateway.domain.roles import EffectiveRoles
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, group, role, store_realms, user

_TREE = (
    group("staff", attributes={"team": ("red", "blue"), "x": ("red",)}),
    group("berlin", "/staff", attributes={"team": ("red",)}, description="d"),
    group("night", "/staff/berlin"),
    group("Nacht_1", "/staff", attributes={"team": ("50%",)}),
    group("guests"),
)
_OTHER_TREE = (
    group("staff", of="other"),
    group("theirs", of="other", id="guests-group"),
    group("berlin", "/theirs", of="other", parent="guests-group"),
)
"""The same ids at other places."""


@pytest.fixture
async def tree(database: SqlDatabase) -> SqlDatabase:
    """Store a tree in one realm, and groups with the same ids in another."""
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for one in (*_TREE, *_OTHER_TREE):
            await stores.groups.add(one)
    return database


async def paths(database: SqlDatabase, query: GroupQuery, realm: str = "demo-id") -> list[str]:
    async with database.read() as stores:
        return [found.path for found in await stores.group_catalogue.list_groups(realm, query)]


async def test_a_level_is_listed_by_name_a_page_at_a_time(tree: SqlDatabase) -> None:
    assert await paths(tree, GroupQuery(parent="")) == ["/guests", "/staff"]
    assert await paths(tree, GroupQuery(parent="", first=1, maximum=5)) == ["/staff"]
    assert await paths(tree, GroupQuery(parent="", maximum=0)) == []
    below = ["/staff/Nacht_1", "/staff/berlin"]
    assert await paths(tree, GroupQuery(parent="staff-group")) == below
    assert await paths(tree, GroupQuery(parent="staff-group", maximum=1)) == below[:1]
    assert await paths(tree, GroupQuery(parent="staff-group"), "other-id") == []
    assert await paths(tree, GroupQuery(parent="guests-group")) == []
    assert await paths(tree, GroupQuery(parent="\0")) == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (GroupQuery(search="N"), ["/staff/Nacht_1", "/staff/berlin", "/staff/berlin/night"]),
        (GroupQuery(search="n", first=1, maximum=1), ["/staff/berlin"]),
        (GroupQuery(search="n", parent="staff-group"), ["/staff/Nacht_1", "/staff/berlin"]),
        (GroupQuery(search="_"), ["/staff/Nacht_1"]),
        (GroupQuery(search="%"), []),
        (GroupQuery(search="/"), []),
        (GroupQuery(search="berlin", exact=True), ["/staff/berlin"]),
        (GroupQuery(search="Berlin", exact=True), []),
        (GroupQuery(search="\0", exact=True), []),
        (GroupQuery(attributes={"team": "red"}), ["/staff/berlin", "/staff"]),
        (GroupQuery(attributes={"team": "Red"}), []),
        (GroupQuery(attributes={"team": "50%"}), ["/staff/Nacht_1"]),
        (GroupQuery(attributes={"team": "red", "x": "red"}), ["/staff"]),
        (GroupQuery(attributes={"x": "blue"}), []),
        (GroupQuery(attributes={"team": "red"}, first=1, maximum=1), ["/staff"]),
    ],
)
async def test_a_search_finds_groups_of_all_levels_and_counts_them(
    tree: SqlDatabase, query: GroupQuery, found: list[str]
) -> None:
    assert await paths(tree, query) == found
    if not query.first and query.maximum is None:
        async with tree.read() as stores:
            assert await stores.group_catalogue.count_groups("demo-id", query) == len(found)


async def test_capitals_make_no_difference_in_any_alphabet(tree: SqlDatabase) -> None:
    async with tree.write() as stores:
        await stores.groups.add(group("ÜBER", "/guests", attributes={"ÄÖ": ("é",)}))
    assert await paths(tree, GroupQuery(search="über")) == ["/guests/ÜBER"]
    assert await paths(tree, GroupQuery(search="äber")) == []
    assert await paths(tree, GroupQuery(attributes={"ÄÖ": "é"})) == ["/guests/ÜBER"]


async def test_groups_are_counted_by_level_or_all_of_them(tree: SqlDatabase) -> None:
    async with tree.read() as stores:
        count = stores.group_catalogue.count_groups
        assert await count("demo-id", GroupQuery()) == 5
        assert await count("demo-id", GroupQuery(parent="")) == 2
        assert await count("other-id", GroupQuery()) == 3
        children = await stores.group_catalogue.child_counts(
            "demo-id", ["staff-group", "night-group", "berlin-group"]
        )
        assert children == {"staff-group": 2, "berlin-group": 1}
        assert await stores.group_catalogue.child_counts("other-id", ["staff-group"]) == {}


async def test_a_group_is_found_by_its_id_within_its_realm(tree: SqlDatabase) -> None:
    async with tree.write() as stores:
        find = stores.group_catalogue.find_group
        assert await find("demo-id", "night-group") == _TREE[2]
        assert await find("demo-id", "night-group", for_update=True) == _TREE[2]
        for realm, name in (("other-id", "night-group"), ("demo-id", "ghost"), ("demo-id", "\0")):
            assert await find(realm, name) is None


async def test_a_path_leads_to_its_group_even_where_names_have_slashes(tree: SqlDatabase) -> None:
    slashed = (
        group("a", id="a"),
        group("a/b", id="ab", path="/a~/b"),
        group("c", id="abc", parent="ab", path="/a~/b/c"),
        group("b", id="a-b", parent="a", path="/a/b"),
        group("x/y", id="xy", path="/x~/y"),
        group("a~", id="a~", path="/a~~"),
        group("b", id="a~-b", parent="a~", path="/a~~/b"),
    )
    async with tree.write() as stores:
        for one in slashed:
            await stores.groups.add(one)
    async with tree.read() as stores:
        find = stores.group_catalogue.find_by_path
        assert await find("demo-id", "/staff/berlin/night") == _TREE[2]
        assert await find("demo-id", "guests/") == _TREE[4]
        for one in slashed:
            assert await find("demo-id", one.path) == one
        # A path without escapes leads to the group that it names, or else to one with slashes.
        assert await find("demo-id", "/a/b") == slashed[3]
        assert await find("demo-id", "/a/b/c") == slashed[2]
        assert await find("demo-id", "x/y") == slashed[4]
        for wrong in ("", "/", "berlin", "/staff/night", "/Staff", "/a/b/c/d", "\0", "x/" * 900):
            assert await find("demo-id", wrong) is None
        assert await find("other-id", "/staff/berlin") is None
        assert await find("demo-id", "/theirs/berlin") is None


async def test_parents_come_with_groups_by_path(tree: SqlDatabase) -> None:
    async with tree.read() as stores:
        found = await stores.group_catalogue.with_parents(
            "demo-id", ["night-group", "guests-group"]
        )
        assert [one.path for one in found] == [
            "/guests",
            "/staff",
            "/staff/berlin",
            "/staff/berlin/night",
        ]
        found = await stores.group_catalogue.with_parents("demo-id", ["night-group"])
        assert "/guests" not in [one.path for one in found]
        theirs = await stores.group_catalogue.with_parents("other-id", ["berlin-group", "ghost"])
        assert [one.path for one in theirs] == ["/theirs", "/theirs/berlin"]


async def test_roles_of_groups_are_named_direct_ones_alone(tree: SqlDatabase) -> None:
    async with tree.write() as stores:
        await stores.clients.add(client("device"))
        await stores.roles.add(role("b"))
        await stores.roles.add(role("a"))
        await stores.roles.add(role("use", client="device-uuid"))
        await stores.roles.set_composites("demo-id", "a-role", ["b-role"])
        await stores.groups.grant("demo-id", "staff-group", ["a-role", "use-role"])
    async with tree.read() as stores:
        of_groups = await stores.group_catalogue.roles("demo-id", ["staff-group", "berlin-group"])
        assert of_groups == {"staff-group": EffectiveRoles(("a",), (("device", ("use",)),))}
        assert await stores.group_catalogue.roles("other-id", ["staff-group"]) == {}
        having = await stores.group_catalogue.having_role("demo-id", "a-role", 0, 9)
        assert having == (_TREE[0],)
        assert await stores.group_catalogue.having_role("demo-id", "a-role", 1, 9) == ()
        assert await stores.group_catalogue.having_role("other-id", "a-role", 0, 9) == ()


async def test_members_come_by_name_a_page_at_a_time(tree: SqlDatabase) -> None:
    async with tree.write() as stores:
        for name in ("carl", "alice", "bob"):
            await stores.users.add(user(name))
            await stores.groups.join("demo-id", f"{name}-uuid", "berlin-group")
        for name in ("carl", "dora"):
            await stores.users.add(user(name, of="other"))
            await stores.groups.join("other-id", f"{name}-uuid", "berlin-group")
    async with tree.read() as stores:
        members = stores.group_catalogue.members
        found = await members("demo-id", "berlin-group", 0, 9)
        assert [one.username for one in found] == ["alice", "bob", "carl"]
        found = await members("demo-id", "berlin-group", 1, 1)
        assert [one.username for one in found] == ["bob"]
        assert await members("demo-id", "staff-group", 0, 9) == ()
        theirs = await members("other-id", "berlin-group", 0, 9)
        assert [one.username for one in theirs] == ["carl", "dora"]


async def test_a_group_moves_with_all_below_it(tree: SqlDatabase) -> None:
    async with tree.write() as stores:
        assert await stores.group_catalogue.height("demo-id", "staff-group") == 3
        assert await stores.group_catalogue.height("demo-id", "ghost") == 0
        await stores.group_catalogue.move("demo-id", "berlin-group", "guests-group")
    assert await paths(tree, GroupQuery(search="i")) == ["/guests/berlin", "/guests/berlin/night"]
    async with tree.write() as stores:
        await stores.group_catalogue.move("demo-id", "night-group", None)
        await stores.group_catalogue.move("demo-id", "staff-group", "guests-group")
    assert await paths(tree, GroupQuery(parent="")) == ["/guests", "/night"]
    assert await paths(tree, GroupQuery(parent=""), "other-id") == ["/staff", "/theirs"]


async def test_a_group_does_not_move_where_its_name_is_taken(tree: SqlDatabase) -> None:
    async with tree.write() as stores:
        await stores.groups.add(group("berlin", id="top-berlin"))
        await stores.groups.add(group("guests", "/staff", id="low-guests"))
    for moved, parent, message in (
        ("berlin-group", None, r"^Top level group named 'berlin' already exists\.$"),
        ("guests-group", "staff-group", r"^Sibling group named 'guests' already exists\.$"),
    ):
        with pytest.raises(AlreadyExists, match=message):
            async with tree.write() as stores:
                await stores.group_catalogue.move("demo-id", moved, parent)
    for realm, parent in (("demo-id", "ghost"), ("other-id", "night-group")):
        with pytest.raises(InvalidInput):
            async with tree.write() as stores:
                await stores.group_catalogue.move(realm, "berlin-group", parent)


async def test_a_group_that_is_removed_takes_all_below_it_along(tree: SqlDatabase) -> None:
    async with tree.write() as stores:
        await stores.group_catalogue.remove_group("demo-id", "berlin-group")
    assert await paths(tree, GroupQuery()) == ["/staff/Nacht_1", "/guests", "/staff"]
    assert await paths(tree, GroupQuery(), "other-id") == ["/theirs/berlin", "/staff", "/theirs"]
