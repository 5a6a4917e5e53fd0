"""Roles as administrators look them up: by name, container and holder, on both databases."""

import asyncio
from collections.abc import Callable

import pytest

from gateway.domain.client_scopes import ClientScope
from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.ports.users import HolderKind, RoleHolder, RoleQuery, Share
from gateway.domain.roles import ListedRole
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.stored_values import client, group, role, store_realms, user

ALICE = RoleHolder(HolderKind.USER, "alice-uuid")
TOP = RoleHolder(HolderKind.COMPOSITE, "top-role")


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    """Store the same ids in two realms; only `demo` has anything given."""
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for realm in ("demo", "other"):
            await stores.clients.add(client("device", of=realm))
            await stores.users.add(user("alice", of=realm))
            for name in ("top", "middle", "apart"):
                await stores.roles.add(role(name, of=realm))
            await stores.roles.add(role("use", of=realm, client="device-uuid"))
            for one in (group("staff", of=realm), group("berlin", "/staff", of=realm)):
                await stores.groups.add(one)
        await stores.roles.set_composites("demo-id", "top-role", ["middle-role"])
        await stores.roles.set_composites("demo-id", "middle-role", ["use-role", "top-role"])
    return database


async def names(database: SqlDatabase, query: RoleQuery, realm: str = "demo-id") -> list[str]:
    async with database.read() as stores:
        return [found.role.name for found in await stores.role_catalogue.list_roles(realm, query)]


async def test_a_listed_role_tells_whether_it_contains_others(stored: SqlDatabase) -> None:
    async with stored.read() as stores:
        listed = await stores.role_catalogue.list_roles("demo-id", RoleQuery())
        assert listed == (
            ListedRole(role("apart"), composite=False),
            ListedRole(role("middle"), composite=True),
            ListedRole(role("top"), composite=True),
            ListedRole(role("use", client="device-uuid"), composite=False, client_id="device"),
        )
        others = await stores.role_catalogue.list_roles("other-id", RoleQuery())
        assert not any(found.composite for found in others)


async def test_roles_are_those_of_the_realm_or_of_one_client(stored: SqlDatabase) -> None:
    assert await names(stored, RoleQuery(container="")) == ["apart", "middle", "top"]
    assert await names(stored, RoleQuery(container="device-uuid")) == ["use"]
    assert await names(stored, RoleQuery(container="ghost")) == []
    assert await names(stored, RoleQuery(container="\0")) == []


async def test_a_page_is_taken_in_the_order_of_names(stored: SqlDatabase) -> None:
    assert await names(stored, RoleQuery(first=1, maximum=2)) == ["middle", "top"]
    assert await names(stored, RoleQuery(first=3)) == ["use"]
    assert await names(stored, RoleQuery(maximum=0)) == []
    assert await names(stored, RoleQuery(search="p", first=1, maximum=1)) == ["top"]
    assert await names(stored, RoleQuery(search="p", maximum=1)) == ["apart"]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("ÄRGER", ["b", "Ärger_1"]),
        ("ger_", ["Ärger_1"]),
        ("%", ["b"]),
        ("/", ["b"]),
        ("ÜÄ", []),
        ("äRG", ["b", "Ärger_1"]),
        ("\0", []),
        ("ä" * 3000, []),
    ],
)
async def test_search_matches_part_of_name_or_description_in_any_case(
    database: SqlDatabase, search: str, found: list[str]
) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.roles.add(role("Ärger_1"))
        await stores.roles.add(role("b", description="100 % ärger/Not"))
        await stores.roles.add(role("c", description="argerx"))
    assert await names(database, RoleQuery(search=search)) == found


async def test_shares_of_a_user_follow_groups_and_composites(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        give = stores.role_catalogue.grant_roles
        await give("demo-id", ALICE, ["apart-role"])
        await give("demo-id", ALICE, ["apart-role"])
        await give("demo-id", ALICE, [])
        await give("demo-id", RoleHolder(HolderKind.GROUP, "staff-group"), ["top-role"])
        await stores.groups.join("demo-id", "alice-uuid", "berlin-group")
    assert await names(stored, RoleQuery(ALICE)) == ["apart"]
    assert await names(stored, RoleQuery(ALICE, Share.MISSING)) == ["middle", "top", "use"]
    effective = RoleQuery(ALICE, Share.EFFECTIVE)
    assert await names(stored, effective) == ["apart", "middle", "top", "use"]
    assert await names(stored, effective, "other-id") == []
    of_client = RoleQuery(ALICE, Share.EFFECTIVE, container="device-uuid")
    assert await names(stored, of_client) == ["use"]
    missing_of_client = RoleQuery(ALICE, Share.MISSING, container="device-uuid")
    assert await names(stored, missing_of_client) == ["use"]


async def test_a_group_inherits_from_above_and_not_from_below(
    stored: SqlDatabase,
) -> None:
    staff, berlin = (RoleHolder(HolderKind.GROUP, f"{name}-group") for name in ("staff", "berlin"))
    async with stored.write() as stores:
        await stores.role_catalogue.grant_roles("demo-id", staff, ["middle-role"])
        await stores.role_catalogue.grant_roles("demo-id", berlin, ["apart-role"])
    everything = ["apart", "middle", "top", "use"]
    assert await names(stored, RoleQuery(berlin, Share.EFFECTIVE)) == everything
    assert await names(stored, RoleQuery(staff, Share.EFFECTIVE)) == ["middle", "top", "use"]
    assert await names(stored, RoleQuery(berlin)) == ["apart"]
    assert await names(stored, RoleQuery(berlin, Share.EFFECTIVE), "other-id") == []


async def test_the_scope_of_clients_and_client_scopes_holds_roles_too(stored: SqlDatabase) -> None:
    holders = (
        RoleHolder(HolderKind.CLIENT, "device-uuid"),
        RoleHolder(HolderKind.CLIENT_SCOPE, "s"),
    )
    async with stored.write() as stores:
        await stores.client_scopes.add("demo-id", ClientScope(id="s", realm_id="demo-id", name="s"))
        for holder in holders:
            await stores.role_catalogue.grant_roles("demo-id", holder, ["middle-role"])
    for holder in holders:
        assert await names(stored, RoleQuery(holder)) == ["middle"]
        assert await names(stored, RoleQuery(holder, Share.EFFECTIVE)) == ["middle", "top", "use"]


async def test_what_is_taken_was_given_directly_and_the_rest_stays(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.role_catalogue.grant_roles("demo-id", ALICE, ["apart-role", "top-role"])
        await stores.role_catalogue.revoke_roles(
            "demo-id", ALICE, ["apart-role", "use-role", "ghost"]
        )
        await stores.role_catalogue.revoke_roles("other-id", ALICE, ["top-role"])
        await stores.role_catalogue.revoke_roles("demo-id", TOP, ["middle-role"])
    assert await names(stored, RoleQuery(ALICE)) == ["top"]
    assert await names(stored, RoleQuery(TOP)) == []


async def test_composites_are_followed_transitively_in_the_realm(
    stored: SqlDatabase,
) -> None:
    async with stored.read() as stores:
        containing = stores.role_catalogue.containing
        everything = frozenset({"use-role", "middle-role", "top-role"})
        assert await containing("demo-id", ["use-role"]) == everything
        assert await containing("demo-id", ["apart-role"]) == {"apart-role"}
        assert await containing("other-id", ["use-role"]) == {"use-role"}
        assert await containing("demo-id", ["ghost"]) == frozenset()


async def test_two_grants_of_the_same_roles_do_not_deadlock(
    stored: SqlDatabase, other_gateway: SqlDatabase, waiting: Callable[[], int]
) -> None:
    async def give(*role_ids: str) -> None:
        async with other_gateway.write() as stores:
            await stores.role_catalogue.grant_roles("demo-id", ALICE, role_ids)

    async with stored.write() as stores:
        await stores.role_catalogue.grant_roles("demo-id", ALICE, ["middle-role"])
        first = asyncio.create_task(give("apart-role", "middle-role", "top-role"))
        await eventually(lambda: waiting() >= 1)
        second = asyncio.create_task(give("top-role", "apart-role"))
        await eventually(lambda: waiting() > 1)
    await asyncio.gather(first, second)
    assert await names(stored, RoleQuery(ALICE)) == ["apart", "middle", "top"]


async def test_nobody_is_given_a_role_of_another_realm(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.roles.add(role("theirs", of="other"))
    for holder in (ALICE, TOP, RoleHolder(HolderKind.GROUP, "staff-group")):
        with pytest.raises(InvalidInput):
            async with stored.write() as stores:
                await stores.role_catalogue.grant_roles("demo-id", holder, ["theirs-role"])


async def test_a_role_is_found_by_id_and_by_name_within_its_realm(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.roles.add(role("ours", attributes={"a": ("1", "2"), "b": ()}))
        catalogue = stores.role_catalogue
        ours = ListedRole(role("ours", attributes={"a": ("1", "2"), "b": ()}), composite=False)
        assert await catalogue.find_role("demo-id", "ours-role") == ours
        assert await catalogue.find_role("demo-id", "ours-role", for_update=True) == ours
        assert await catalogue.find_by_name("demo-id", None, "ours", for_update=True) == ours
        assert await catalogue.find_role("other-id", "ours-role") is None
        assert await catalogue.find_by_name("other-id", None, "ours") is None
        of_client = await catalogue.find_by_name("demo-id", "device-uuid", "use", for_update=True)
        assert of_client is not None
        assert of_client.client_id == "device"
        assert await catalogue.find_by_name("demo-id", None, "use") is None
        assert await catalogue.find_by_name("demo-id", "ghost", "use") is None
        for unstorable in ("\0", "x" * 256, "\ud800"):
            assert await catalogue.find_role("demo-id", unstorable) is None
            assert await catalogue.find_by_name("demo-id", None, unstorable) is None
            assert await catalogue.find_by_name("demo-id", unstorable, "use") is None


async def test_roles_are_found_by_many_ids_at_once(stored: SqlDatabase) -> None:
    ids = ["top-role", "use-role", "ghost", "\0", *(f"id-{number}" for number in range(2500))]
    async with stored.read() as stores:
        found = await stores.role_catalogue.by_ids("demo-id", ids)
        assert {role_id: one.client_id for role_id, one in found.items()} == {
            "top-role": None,
            "use-role": "device",
        }
        assert await stores.role_catalogue.by_ids("third-id", ids) == {}


async def test_whatever_contains_a_role_in_the_end_is_found_with_it(stored: SqlDatabase) -> None:
    async with stored.read() as stores:
        containing = stores.role_catalogue.containing
        assert await containing("demo-id", ["use-role"]) == {"use-role", "middle-role", "top-role"}
        assert await containing("demo-id", ["apart-role"]) == {"apart-role"}
        assert await containing("demo-id", ["ghost"]) == frozenset()
        assert await containing("other-id", ["use-role"]) == {"use-role"}


async def test_a_role_keeps_its_place_when_it_is_replaced(stored: SqlDatabase) -> None:
    changed = role("peak", id="top-role", description="d", attributes={"a": ("1",)})
    async with stored.write() as stores:
        await stores.role_catalogue.replace(changed)
    async with stored.read() as stores:
        assert await stores.role_catalogue.find_role("demo-id", "top-role") == ListedRole(
            changed, composite=True
        )
        theirs = await stores.role_catalogue.find_role("other-id", "top-role")
        assert theirs is not None
        assert theirs.role.name == "top"
    with pytest.raises(AlreadyExists, match=r"^Role with name middle already exists$"):
        async with stored.write() as stores:
            await stores.role_catalogue.replace(role("middle", id="top-role"))


async def test_a_role_that_is_removed_is_nobodys(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.role_catalogue.grant_roles("demo-id", ALICE, ["middle-role"])
        await stores.role_catalogue.remove_role("demo-id", "middle-role")
    assert await names(stored, RoleQuery(ALICE)) == []
    assert await names(stored, RoleQuery(TOP)) == []
    assert "middle" in await names(stored, RoleQuery(), "other-id")


async def test_direct_holders_of_a_role_are_paged_by_name(
    stored: SqlDatabase,
) -> None:
    async with stored.write() as stores:
        for name in ("carl", "bob"):
            await stores.users.add(user(name))
        for name in ("carl", "alice", "bob"):
            holder = RoleHolder(HolderKind.USER, f"{name}-uuid")
            await stores.role_catalogue.grant_roles("demo-id", holder, ["apart-role"])
    async with stored.read() as stores:
        users = stores.role_catalogue.users
        assert [one.username for one in await users("demo-id", "apart-role", 0, 9)] == [
            "alice",
            "bob",
            "carl",
        ]
        assert [one.username for one in await users("demo-id", "apart-role", 1, 1)] == ["bob"]
        assert await users("other-id", "apart-role", 0, 9) == ()
        assert await users("demo-id", "top-role", 0, 9) == ()
