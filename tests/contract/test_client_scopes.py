"""Client scopes, and the roles in scopes, in the database."""

from dataclasses import replace

import pytest

from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.clients.client import ProtocolMapper
from gateway.domain.errors import AlreadyExists
from gateway.domain.ports.users import HolderKind, RoleHolder
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, role, store_realms

OF_SCOPE = RoleHolder(HolderKind.CLIENT_SCOPE, "a-scope")
MAPPER = ProtocolMapper("m", "mapper", "oidc-sub-mapper", {"z": "1", "a": "ä"})
ELSEWHERE = ProtocolMapper("s", "role list", "saml-role-list-mapper", {}, "saml")


def scope(name: str, *, of: str = "demo", identity: str | None = None) -> ClientScope:
    return ClientScope(identity or f"{name}-scope", f"{of}-id", name)


FULL = replace(
    scope("full"),
    description="",
    protocol="saml",
    attributes={"z": "", "include.in.token.scope": "false", "a": "ä"},
    mappers=(MAPPER, ELSEWHERE),
    realm_default=RealmDefault.OPTIONAL,
)


async def test_scopes_come_back_as_they_were_stored_by_name(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for one in (FULL, scope("b"), scope("a"), scope("theirs", of="other")):
            await stores.client_scopes.add(one.realm_id, one)
    async with database.read() as stores:
        assert await stores.client_scopes.list_values("demo-id") == (scope("a"), scope("b"), FULL)
        assert list((await stores.client_scopes.list_values("demo-id"))[2].attributes) == [
            *FULL.attributes
        ]
        assert await stores.client_scopes.find_value("demo-id", FULL.id) == FULL


@pytest.mark.parametrize("scope_id", ["theirs-scope", "nobody's", "", "a\0", "x" * 5000])
async def test_a_scope_of_another_realm_is_not_found(database: SqlDatabase, scope_id: str) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.client_scopes.add("other-id", scope("theirs", of="other"))
        assert await stores.client_scopes.find_value("demo-id", scope_id) is None
        assert await stores.client_scopes.remove_value("demo-id", scope_id) is False
    async with database.read() as stores:
        assert await stores.client_scopes.list_values("other-id") == (scope("theirs", of="other"),)


async def test_a_scope_name_is_unique_in_its_realm(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.client_scopes.add("demo-id", scope("a"))
        await stores.client_scopes.add("demo-id", scope("b"))
        await stores.client_scopes.add("other-id", scope("a", of="other"))
    with pytest.raises(AlreadyExists, match=r"^Client Scope a already exists$"):
        async with database.write() as stores:
            await stores.client_scopes.add("demo-id", scope("a", identity="new"))
    with pytest.raises(AlreadyExists, match=r"^Client Scope a already exists$"):
        async with database.write() as stores:
            await stores.client_scopes.put_value("demo-id", replace(scope("b"), name="a"))


async def test_a_scope_is_replaced_and_removed_with_its_roles(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.client_scopes.add("demo-id", scope("a"))
        await stores.client_scopes.add("demo-id", scope("b"))
        await stores.roles.add(role("viewer"))
        await stores.role_catalogue.grant_roles("demo-id", OF_SCOPE, ["viewer-role"])
        await stores.client_scopes.put_value("demo-id", replace(FULL, id="a-scope"))
    async with database.write() as stores:
        assert await stores.client_scopes.find_value("demo-id", "a-scope") == replace(
            FULL, id="a-scope"
        )
        assert await stores.role_scopes.list_roles_in_scope("demo-id", HolderKind.CLIENT_SCOPE) == {
            "a-scope": {"viewer-role"}
        }
        assert await stores.client_scopes.remove_value("demo-id", "a-scope") is True
    async with database.read() as stores:
        assert await stores.client_scopes.list_values("demo-id") == (scope("b"),)
        assert (
            await stores.role_scopes.list_roles_in_scope("demo-id", HolderKind.CLIENT_SCOPE) == {}
        )


async def test_scopes_of_two_realms_may_have_one_id(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    ours, theirs = (scope("a", of=of, identity="one") for of in ("demo", "other"))
    async with database.write() as stores:
        for each in (ours, theirs):
            await stores.client_scopes.add(each.realm_id, each)
        await stores.client_scopes.put_value(ours.realm_id, replace(ours, name="b"))
        found = await stores.client_scopes.get_for_update("demo-id", "one")
        assert found == replace(ours, name="b")
    async with database.write() as stores:
        assert await stores.client_scopes.find_value("other-id", "one") == theirs
        assert await stores.client_scopes.remove_value("demo-id", "one") is True
        assert await stores.client_scopes.find_value("other-id", "one") == theirs


@pytest.fixture
async def mapped(database: SqlDatabase) -> SqlDatabase:
    """Return a database where roles of two realms are in scopes of one name."""
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for of in ("demo", "other"):
            await stores.client_scopes.add(f"{of}-id", scope("a", of=of))
            await stores.client_scopes.add(f"{of}-id", scope("b", of=of))
            await stores.clients.add(client("app", of=of))
            await stores.clients.add(client("web", of=of))
            for name in ("x", "y", "z"):
                await stores.roles.add(role(name, of=of))
            await stores.roles.add(role("own", of=of, client="app-uuid"))
        await stores.roles.add_composites("demo-id", "own-role", ["z-role"])
        await stores.roles.add_composites("demo-id", "z-role", ["own-role"])
        give = stores.role_catalogue.grant_roles
        await give("demo-id", OF_SCOPE, ["x-role"])
        await give("demo-id", RoleHolder(HolderKind.CLIENT_SCOPE, "b-scope"), ["y-role", "z-role"])
        await give("demo-id", RoleHolder(HolderKind.CLIENT, "web-uuid"), ["y-role"])
        await give("demo-id", RoleHolder(HolderKind.CLIENT, "app-uuid"), ["x-role"])
    return database


async def test_roles_are_told_by_the_scope_they_are_in(mapped: SqlDatabase) -> None:
    async with mapped.read() as stores:
        assert await stores.role_scopes.list_roles_in_scope("demo-id", HolderKind.CLIENT) == {
            "app-uuid": {"x-role"},
            "web-uuid": {"y-role"},
        }
        assert await stores.role_scopes.list_roles_in_scope("demo-id", HolderKind.CLIENT_SCOPE) == {
            "a-scope": {"x-role"},
            "b-scope": {"y-role", "z-role"},
        }
        for kind in (HolderKind.CLIENT, HolderKind.CLIENT_SCOPE):
            assert await stores.role_scopes.list_roles_in_scope("other-id", kind) == {}


@pytest.mark.parametrize(
    ("of_client", "of_scopes", "reached"),
    [
        (None, (), ""),
        (None, ("a-scope",), "x"),
        (None, ("a-scope", "b-scope", "nobody's"), "own x y z"),
        ("web-uuid", (), "y"),
        ("app-uuid", (), "own x z"),
        ("web-uuid", ("a-scope",), "x y"),
    ],
)
async def test_composite_and_own_client_roles_are_in_reach(
    mapped: SqlDatabase, of_client: str | None, of_scopes: tuple[str, ...], reached: str
) -> None:
    async with mapped.read() as stores:
        found = await stores.role_scopes.reached("demo-id", of_client, of_scopes)
    assert sorted(found) == [f"{name}-role" for name in reached.split()]


async def test_nothing_of_another_realm_is_reached(mapped: SqlDatabase) -> None:
    async with mapped.read() as stores:
        reached = await stores.role_scopes.reached("other-id", "app-uuid", ["a-scope", "b-scope"])
    assert reached == {"own-role"}


async def test_a_client_reaches_no_role_of_a_namesake_elsewhere(
    mapped: SqlDatabase,
) -> None:
    async with mapped.write() as stores:
        await stores.roles.add(role("twin"))
        await stores.roles.add(role("twin", of="other", client="app-uuid"))
        reached = await stores.role_scopes.reached("demo-id", "app-uuid", [])
    assert "twin-role" not in reached
