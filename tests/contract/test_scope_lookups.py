"""What look-ups tell of scopes: those of the realm, the roles in them, and those of a client."""

import pytest

from gateway.domain.client_scopes import ClientScope, RealmDefault, RoleBoundScope
from gateway.domain.clients.client import ProtocolMapper
from gateway.domain.groups import Group
from gateway.domain.ports.users import HolderKind, RoleHolder
from gateway.domain.roles import EffectiveRoles
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, role, store_realms, user

MAPPER = ProtocolMapper("m", "mapper", "oidc-sub-mapper", {"a": "ä"})
TEAM = ClientScope(
    *("team-id", "demo-id", "team", "d"),
    attributes={"z": "1", "a": "2"},
    mappers=(MAPPER,),
    realm_default=RealmDefault.DEFAULT,
)
FREE = ClientScope("free-id", "demo-id", "free", protocol="saml")
IN_TEAM = RoleHolder(HolderKind.CLIENT_SCOPE, TEAM.id)
IN_APP = RoleHolder(HolderKind.CLIENT, "app-uuid")


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    """Return a database with two realms, scopes, and roles that contain others in a circle."""
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for scope in (TEAM, FREE):
            await stores.client_scopes.add(scope.realm_id, scope)
        for of in ("demo", "other"):
            await stores.client_scopes.add(f"{of}-id", ClientScope("x", f"{of}-id", "x"))
            await stores.clients.add(client("app", of=of, full_scope_allowed=False))
            await stores.clients.add(client("web", of=of))
            for name in ("whole", "part"):
                await stores.roles.add(role(name, of=of))
            await stores.roles.add(role("read", of=of, client="app-uuid"))
            await stores.roles.add(role("own", of=of, client="web-uuid"))
        await stores.roles.add_composites("demo-id", "whole-role", ["part-role", "own-role"])
        await stores.roles.add_composites("demo-id", "part-role", ["whole-role"])
        await stores.role_catalogue.grant_roles("other-id", IN_APP, ["whole-role"])
    return database


async def test_a_realm_comes_with_its_scopes_and_their_roles(
    stored: SqlDatabase,
) -> None:
    async with stored.write() as stores:
        await stores.role_catalogue.grant_roles("demo-id", IN_TEAM, ["whole-role"])
        of_other = RoleHolder(HolderKind.CLIENT_SCOPE, "x")
        await stores.role_catalogue.grant_roles("other-id", of_other, ["part-role"])
    found = await stored.lookups.realm("demo")
    assert found is not None
    in_team = EffectiveRoles(("part", "whole"), (("web", ("own",)),))
    assert found.value.client_scopes == (
        RoleBoundScope(FREE),
        RoleBoundScope(TEAM, in_team),
        RoleBoundScope(ClientScope("x", "demo-id", "x")),
    )
    assert list(found.value.client_scopes[1].scope.attributes) == ["z", "a"]


async def test_a_realm_without_scopes_has_none(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.client_scopes.remove_value("other-id", "x")
    found = await stored.lookups.realm("other")
    assert found is not None
    assert found.value.client_scopes == ()


async def test_a_change_to_a_scope_or_to_its_roles_is_seen(stored: SqlDatabase) -> None:
    before = await stored.lookups.realm("demo")
    assert await stored.lookups.realm("demo", before) is before
    async with stored.write() as stores:
        await stores.role_catalogue.grant_roles("demo-id", IN_TEAM, ["part-role"])
    after = await stored.lookups.realm("demo", before)
    assert after is not before
    async with stored.write() as stores:
        await stores.client_scopes.remove_value("demo-id", FREE.id)
    last = await stored.lookups.realm("demo", after)
    assert last is not None
    assert [bound.scope.name for bound in last.value.client_scopes] == ["team", "x"]


async def test_a_client_comes_with_own_roles_and_scope_mappings(
    stored: SqlDatabase,
) -> None:
    async def in_scope(client_id: str) -> EffectiveRoles:
        found = await stored.lookups.client("demo-id", client_id)
        assert found is not None
        return found.value.scope_roles

    assert await in_scope("app") == EffectiveRoles((), (("app", ("read",)),))
    async with stored.write() as stores:
        await stores.role_catalogue.grant_roles("demo-id", IN_APP, ["part-role"])
    assert await in_scope("app") == EffectiveRoles(
        ("part", "whole"), (("app", ("read",)), ("web", ("own",)))
    )


async def test_a_client_of_full_scope_keeps_no_list_of_it(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        of_web = RoleHolder(HolderKind.CLIENT, "web-uuid")
        await stores.role_catalogue.grant_roles("demo-id", of_web, ["part-role"])
    found = await stored.lookups.client("demo-id", "web")
    assert found is not None
    assert found.value.scope_roles == EffectiveRoles()


async def test_a_user_comes_with_group_attributes_nearest_first(
    stored: SqlDatabase,
) -> None:
    async with stored.write() as stores:
        await stores.users.add(user("alice"))
        for group in (
            Group("top", "demo-id", "top", "/top", attributes={"team": ("red", "blue")}),
            Group("b", "demo-id", "b", "/top/b", parent="top", attributes={"team": ("b",)}),
            Group("c", "demo-id", "c", "/c", attributes={}),
            Group("d", "demo-id", "d", "/top/d", parent="top", attributes={"desk": ("1",)}),
            Group("e", "demo-id", "e", "/e", attributes={"team": ("not",)}),
        ):
            await stores.groups.add(group)
        for joined in ("b", "c", "d"):
            await stores.groups.join("demo-id", "alice-uuid", joined)
    found = await stored.lookups.user("demo-id", "alice-uuid")
    assert found is not None
    assert found.value.groups == ("/c", "/top/b", "/top/d")
    assert found.value.group_attributes == (
        {"team": ("b",)},
        {"team": ("red", "blue")},
        {"desk": ("1",)},
    )
