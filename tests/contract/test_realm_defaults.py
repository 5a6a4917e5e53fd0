"""What every realm has from its creation, and who may administer it. Keycloak: 8.6, 9."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing

import pytest

from gateway.admin.access.rights import AdminRole
from gateway.admin.realms.defaults import ensure_defaults
from gateway.domain.ports.users import HolderKind
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from tests.support.realm_imports import ACME, ELLIPTIC, Imports, changed
from tests.support.realm_texts import export_realm
from tests.support.storage import StoredDatabase

MASTER = {"realm": "master", "enabled": True, **ELLIPTIC}
EVERY_RIGHT = tuple(sorted(AdminRole))
HELD_BY_EVERYBODY = ("manage-account", "manage-account-links", "view-profile")


def user(**client_roles: list[str]) -> dict[str, object]:
    names = {name.replace("_", "-"): roles for name, roles in client_roles.items()}
    return {"users": [{"username": "u", "realmRoles": [], "clientRoles": names}]}


def of_clients(roles: EffectiveRoles) -> Mapping[str, tuple[str, ...]]:
    return dict(roles.clients)


async def test_a_realm_has_the_clients_of_keycloak_and_their_roles(
    imports_everywhere: Imports,
) -> None:
    await imports_everywhere.run(ACME)
    async with imports_everywhere.database.read() as stores:
        clients = {client.client_id: client for client in await stores.clients.list_clients("acme")}
        roles = await stores.roles.list_roles("acme")
        in_scope = await stores.role_scopes.list_roles_in_scope("acme", HolderKind.CLIENT)
    assert clients.keys() == {
        "Robot",
        "page",
        "account",
        "account-console",
        "admin-cli",
        "broker",
        "realm-management",
        "security-admin-console",
    }
    held = {
        name: {role.name for role in roles if role.client == client.id}
        for name, client in clients.items()
    }
    assert held["realm-management"] == {*AdminRole, "realm-admin"}
    assert held["account"] == {
        "delete-account",
        "manage-account",
        "manage-account-links",
        "manage-consent",
        "view-applications",
        "view-consent",
        "view-groups",
        "view-profile",
    }
    assert held["broker"] == {"read-token"}
    assert held["admin-cli"] == set()
    names = {role.id: role.name for role in roles}
    assert {
        client_id: {names[role] for role in in_scope.get(client.id, ())}
        for client_id, client in clients.items()
        if client.id in in_scope
    } == {"account-console": {"manage-account", "view-groups"}}
    assert clients["realm-management"].bearer_only


async def test_admin_cli_takes_passwords_and_gets_lightweight_tokens(
    imports: Imports,
) -> None:
    await imports.run(ACME)
    written = json.loads(await export_realm(imports.database, "acme", include_secrets=True))
    (client,) = [item for item in written["clients"] if item["clientId"] == "admin-cli"]
    flows = {name for name, value in client.items() if name.endswith("Enabled") and value is True}
    assert flows == {"directAccessGrantsEnabled"}
    assert client["publicClient"] is True
    assert "secret" not in client
    assert client["attributes"]["client.use.lightweight.access.token.enabled"] == "true"


async def test_every_user_may_manage_the_own_account(imports: Imports) -> None:
    await imports.run(ACME)
    assert of_clients(await imports.roles("bob")) == {"account": HELD_BY_EVERYBODY}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("realm-admin", (*EVERY_RIGHT, "realm-admin")),
        ("view-users", ("query-groups", "query-users", "view-users")),
        ("view-clients", ("query-clients", "view-clients")),
        ("view-organizations", ("query-organizations", "view-organizations")),
        ("manage-users", ("manage-users",)),
    ],
)
async def test_rights_contain_one_another(
    imports: Imports, given: str, meant: tuple[str, ...]
) -> None:
    await imports.run(changed(**user(realm_management=[given])))
    assert of_clients(await imports.roles("u")) == {"realm-management": tuple(sorted(meant))}


async def test_the_administrator_has_every_realm_in_any_order(
    imports: Imports,
) -> None:
    await imports.run({"realm": "early", **ELLIPTIC})
    await imports.run(MASTER)
    await imports.administrator("root", "canary")
    await imports.run(ACME)
    found = of_clients(await imports.roles("root", "master"))
    assert found == {
        "account": HELD_BY_EVERYBODY,
        "acme-realm": EVERY_RIGHT,
        "early-realm": EVERY_RIGHT,
        "master-realm": EVERY_RIGHT,
    }
    assert "realm-management" not in found
    assert (await imports.client("acme-realm", "master")).bearer_only


async def test_a_new_realm_tells_the_gateways_of_its_administrators(imports: Imports) -> None:
    await imports.run(MASTER)
    imports.messages.topics.clear()
    await imports.run(ACME)
    assert imports.messages.topics == ["realm:acme", "realm:master"]


async def test_a_new_realm_adds_admin_rights_and_rewrites_none(
    imports: Imports, sqlite_database: StoredDatabase
) -> None:
    def rows() -> set[tuple[int, str]]:
        path = sqlite_database.url.reveal().removeprefix("sqlite:///")
        with closing(sqlite3.connect(path)) as connection:
            return set(connection.execute("SELECT rowid, composite_id FROM role_composites"))

    await imports.run(MASTER)
    await imports.administrator("root", "canary")
    before = rows()
    await imports.run({"realm": "new", **ELLIPTIC})
    assert before < rows()
    assert of_clients(await imports.roles("root", "master"))["new-realm"] == EVERY_RIGHT


async def test_rights_taken_from_administrators_stay_taken(
    imports: Imports,
) -> None:
    await imports.run(MASTER, {"realm": "early", **ELLIPTIC})
    await imports.administrator("root", "canary")
    async with imports.database.write() as stores:
        admin = await stores.roles.find_realm_role("master", "admin")
        assert admin is not None
        await stores.roles.set_composites("master", admin.id, [])
    await imports.run(ACME)
    assert set(of_clients(await imports.roles("root", "master"))) == {"account", "acme-realm"}


async def test_a_role_of_a_master_user_may_be_one_over_a_realm(imports: Imports) -> None:
    await imports.run(ACME, {**MASTER, **user(acme_realm=["manage-users"])})
    assert of_clients(await imports.roles("u", "master")) == {"acme-realm": ("manage-users",)}


async def test_a_realm_of_an_earlier_version_gets_what_it_lacks_once(
    imports_everywhere: Imports,
) -> None:
    async with imports_everywhere.database.write() as stores:
        for name in ("acme", "master"):
            await stores.realms.add(Realm(id=name, name=name))
    done = await ensure_defaults(imports_everywhere.database)
    assert {realm.name for realm in done} == {"acme", "master"}
    before = await exports(imports_everywhere)
    assert b'"acme-realm"' in before[1]
    assert await ensure_defaults(imports_everywhere.database) == ()
    await imports_everywhere.administrator("root", "canary")
    assert "acme-realm" in of_clients(await imports_everywhere.roles("root", "master"))
    assert (await exports(imports_everywhere))[0] == before[0]


async def test_a_realm_that_a_file_brought_beside_master_lacks_nothing(imports: Imports) -> None:
    await imports.run(ACME, MASTER)
    assert await ensure_defaults(imports.database) == ()


async def test_default_roles_removed_by_an_administrator_stay_away(
    imports: Imports,
) -> None:
    await imports.run(ACME)
    async with imports.database.write() as stores:
        roles = {role.name: role for role in await stores.roles.list_roles("acme")}
        default = roles["default-roles-acme"]
        kept = default.composites - {roles["manage-account"].id}
        await stores.roles.set_composites("acme", default.id, sorted(kept))
    await imports.run(changed(roles={"realm": [{"name": "late"}]}))
    assert of_clients(await imports.roles("bob")) == {"account": ("view-profile",)}


async def test_a_file_that_brings_its_own_default_roles_has_its_way(imports: Imports) -> None:
    everybody = {"name": "default-roles-acme", "composites": {"client": {"account": ["view-own"]}}}
    own = {
        "realm": [everybody, {"name": "offline_access"}],
        "client": {"account": [{"name": "view-own"}, {"name": "manage-account"}]},
    }
    await imports.run({**ACME, "roles": own, "users": [{"username": "u"}]})
    roles = await imports.roles("u")
    assert of_clients(roles) == {"account": ("view-own", "view-profile")}
    assert roles.realm == ("default-roles-acme", "uma_authorization")


async def exports(imports: Imports) -> list[bytes]:
    return [
        await export_realm(imports.database, name, include_secrets=True)
        for name in ("acme", "master")
    ]


async def test_a_realm_has_keycloaks_scopes_and_an_offline_role(
    imports_everywhere: Imports,
) -> None:
    await imports_everywhere.run(ACME)
    async with imports_everywhere.database.read() as stores:
        scopes = {scope.name: scope for scope in await stores.client_scopes.list_values("acme")}
        bound = await stores.role_scopes.list_roles_in_scope("acme", HolderKind.CLIENT_SCOPE)
        role = await stores.roles.find_realm_role("acme", "offline_access")
    assert len(scopes) == 15
    assert role is not None
    assert bound == {scopes["offline_access"].id: {role.id}}


async def test_a_client_scope_that_was_deleted_does_not_come_back(imports: Imports) -> None:
    await imports.run(ACME)
    async with imports.database.write() as stores:
        phone = next(s for s in await stores.client_scopes.list_values("acme") if s.name == "phone")
        await stores.client_scopes.remove_value("acme", phone.id)
    assert await ensure_defaults(imports.database) == ()
    await imports.run(ACME)
    async with imports.database.read() as stores:
        names = {scope.name for scope in await stores.client_scopes.list_values("acme")}
    assert len(names) == 14
    assert "phone" not in names


async def test_a_realm_of_an_earlier_version_gets_the_scopes_once(
    imports_everywhere: Imports,
) -> None:
    await imports_everywhere.run(ACME)
    database = imports_everywhere.database
    async with database.write() as stores:
        for scope in await stores.client_scopes.list_values("acme"):
            await stores.client_scopes.remove_value("acme", scope.id)
    assert [realm.name for realm in await ensure_defaults(database)] == ["acme"]
    assert await ensure_defaults(database) == ()
    async with database.read() as stores:
        assert len(await stores.client_scopes.list_values("acme")) == 15
