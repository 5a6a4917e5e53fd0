"""Client scopes, and the roles in scopes, in the database."""

from dataclasses import replace

import pytest

from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import AlreadyExists
from gateway.domain.ports.storage import RoleScope, ScopeOwner
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, role, store_realms

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
            await stores.client_scopes.add(one)
    async with database.read() as stores:
        assert await stores.client_scopes.list("demo-id") == (scope("a"), scope("b"), FULL)
        assert list((await stores.client_scopes.list("demo-id"))[2].attributes) == [
            *FULL.attributes
        ]
        assert await stores.client_scopes.find("demo-id", FULL.id) == FULL


@pytest.mark.parametrize("scope_id", ["theirs-scope", "nobody's", "", "a\0", "x" * 5000])
async def test_a_scope_of_another_realm_is_not_found(database: SqlDatabase, scope_id: str) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.client_scopes.add(scope("theirs", of="other"))
        assert await stores.client_scopes.find("demo-id", scope_id) is None
        assert await stores.client_scopes.remove("demo-id", scope_id) is False
    async with database.read() as stores:
        assert await stores.client_scopes.list("other-id") == (scope("theirs", of="other"),)


async def test_a_scope_name_is_unique_in_its_realm(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.client_scopes.add(scope("a"))
        await stores.client_scopes.add(scope("b"))
        await stores.client_scopes.add(scope("a", of="other"))
    with pytest.raises(AlreadyExists, match=r"^Client Scope a already exists$"):
        async with database.write() as stores:
            await stores.client_scopes.add(scope("a", identity="new"))
    with pytest.raises(AlreadyExists, match=r"^Client Scope a already exists$"):
        async with database.write() as stores:
            await stores.client_scopes.replace(replace(scope("b"), name="a"))


async def test_a_scope_is_replaced_and_removed_with_its_roles(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    of_scope = RoleScope(ScopeOwner.CLIENT_SCOPE, "a-scope")
    async with database.write() as stores:
        await stores.client_scopes.add(scope("a"))
        await stores.roles.add(role("viewer"))
        await stores.role_scopes.add("demo-id", of_scope, ["viewer-role"])
        await stores.client_scopes.replace(replace(FULL, id="a-scope"))
    async with database.write() as stores:
        assert await stores.client_scopes.find("demo-id", "a-scope") == replace(FULL, id="a-scope")
        assert await stores.role_scopes.of("demo-id", of_scope) == {"viewer-role"}
        assert await stores.client_scopes.remove("demo-id", "a-scope") is True
    async with database.read() as stores:
        assert await stores.client_scopes.list("demo-id") == ()
        assert await stores.role_scopes.of("demo-id", of_scope) == frozenset()


async def test_roles_are_put_into_scopes_and_taken_out_one_by_one(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    of_client = RoleScope(ScopeOwner.CLIENT, "app-uuid")
    of_scope = RoleScope(ScopeOwner.CLIENT_SCOPE, "a-scope")
    async with database.write() as stores:
        await stores.clients.add(client("app"))
        await stores.client_scopes.add(scope("a"))
        for name in ("x", "y", "z"):
            await stores.roles.add(role(name))
        roles = stores.role_scopes
        await roles.add("demo-id", of_client, ["x-role", "y-role"])
        await roles.add("demo-id", of_client, ["y-role", "z-role"])
        await roles.add("demo-id", of_client, [])
        await roles.add("demo-id", of_scope, ["x-role"])
        await roles.remove("demo-id", of_client, ["x-role", "nobody's"])
        await roles.remove("demo-id", of_client, [])
    async with database.read() as stores:
        assert await stores.role_scopes.of("demo-id", of_client) == {"y-role", "z-role"}
        assert await stores.role_scopes.of("demo-id", of_scope) == {"x-role"}
        listed = await stores.role_scopes.list("demo-id", ScopeOwner.CLIENT)
        assert listed == {"app-uuid": {"y-role", "z-role"}}
        of_scopes = await stores.role_scopes.list("demo-id", ScopeOwner.CLIENT_SCOPE)
        assert of_scopes == {"a-scope": {"x-role"}}


async def test_roles_of_one_realm_are_in_no_scope_of_another(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    scopes = [RoleScope(ScopeOwner.CLIENT_SCOPE, "one"), RoleScope(ScopeOwner.CLIENT, "app-uuid")]
    async with database.write() as stores:
        await stores.client_scopes.add(scope("a", identity="one"))
        await stores.client_scopes.add(scope("a", of="other", identity="one"))
        await stores.clients.add(client("app"))
        await stores.clients.add(client("app", of="other"))
        await stores.roles.add(role("x"))
        for one in scopes:
            await stores.role_scopes.add("demo-id", one, ["x-role"])
    async with database.read() as stores:
        for one in scopes:
            assert await stores.role_scopes.of("other-id", one) == frozenset()
            assert await stores.role_scopes.list("other-id", one.owner) == {}
