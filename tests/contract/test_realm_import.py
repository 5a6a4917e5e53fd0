"""Importing a realm file is all or nothing, on SQLite and on PostgreSQL. Keycloak: realm import."""

import json

from gateway.domain.keys import SignatureAlgorithm
from tests.support.realm_imports import ACME, Imports, changed
from tests.support.realm_texts import export_realm


async def test_a_new_realm_gets_a_key_the_built_in_roles_and_the_file(
    imports_everywhere: Imports,
) -> None:
    (done,) = await imports_everywhere.run(ACME)
    assert (done.created, done.clients, done.users) == (True, 2, 2)
    assert await imports_everywhere.algorithms() == [SignatureAlgorithm.ES256]
    async with imports_everywhere.database.read() as stores:
        names = {role.name for role in await stores.roles.list_roles("acme") if role.client is None}
    assert names == {
        "boss",
        "worker",
        "default-roles-acme",
        "offline_access",
        "uma_authorization",
    }
    assert (await imports_everywhere.roles("alice")).realm == ("boss", "worker")
    assert await imports_everywhere.password_is("alice", "alice-canary")
    assert imports_everywhere.messages.topics == ["realm:acme"]


async def test_a_service_account_stands_beside_its_client(imports_everywhere: Imports) -> None:
    await imports_everywhere.run(ACME)
    robot = await imports_everywhere.client("Robot")
    account = await imports_everywhere.user("service-account-robot")
    assert account.service_account_client == robot.id
    assert account.enabled
    assert (await imports_everywhere.roles("service-account-robot")).realm[
        0
    ] == "default-roles-acme"
    assert "service_account" in robot.default_client_scopes
    assert "service_account" not in (await imports_everywhere.client("page")).default_client_scopes


async def test_importing_again_changes_nothing(imports_everywhere: Imports) -> None:
    await imports_everywhere.run(ACME)
    before = await export_realm(imports_everywhere.database, "acme", include_secrets=True)
    (done,) = await imports_everywhere.run(ACME)
    assert (done.created, done.clients, done.users) == (False, 0, 0)
    assert await export_realm(imports_everywhere.database, "acme", include_secrets=True) == before
    assert await imports_everywhere.algorithms() == [SignatureAlgorithm.ES256]


async def test_one_wrong_file_refuses_all_with_every_error(
    imports_everywhere: Imports,
) -> None:
    wrong = [
        {"realm": "one", "enabled": "yes", "clients": [{"clientId": "x", "notBefore": -1}]},
        {"realm": "a b", "users": [{"username": ""}]},
    ]
    found = await imports_everywhere.refused(
        ACME, wrong, {"realm": "two", "roles": {"realm": [{}]}}
    )
    assert found.keys() == {
        "1.json: [0].enabled",
        "1.json: [0].clients[0].notBefore",
        "1.json: [1].realm",
        "1.json: [1].users[0].username",
        "2.json: roles.realm[0].name",
    }
    assert await imports_everywhere.realm_text("acme") is None
    assert imports_everywhere.messages.topics == []


async def test_a_wrong_file_leaves_an_existing_realm_as_it_was(imports_everywhere: Imports) -> None:
    await imports_everywhere.run(ACME)
    before = await export_realm(imports_everywhere.database, "acme", include_secrets=True)
    broken = changed(displayName="new", users=[{"username": "carol", "realmRoles": ["nobody"]}])
    assert await imports_everywhere.refused(broken) == {"0.json: users[0].realmRoles": '"nobody"'}
    assert await export_realm(imports_everywhere.database, "acme", include_secrets=True) == before


async def test_an_exported_realm_is_the_same_after_an_import_elsewhere(
    imports_everywhere: Imports,
) -> None:
    await imports_everywhere.run(ACME)
    text = await export_realm(imports_everywhere.database, "acme", include_secrets=True)
    moved = json.loads(text.replace(b'"acme"', b'"moved"'))
    await imports_everywhere.run(moved)
    assert (await imports_everywhere.client("Robot", "moved")).secret == (
        await imports_everywhere.client("Robot")
    ).secret
    assert await imports_everywhere.password_is("alice", "alice-canary", "moved")
    assert (await imports_everywhere.roles("alice", "moved")).realm == ("boss", "worker")
    account = await imports_everywhere.user("service-account-robot", "moved")
    assert account.service_account_client == (await imports_everywhere.client("Robot", "moved")).id


async def test_an_id_of_another_realm_is_refused_and_nothing_stored(
    imports_everywhere: Imports,
) -> None:
    await imports_everywhere.run(ACME)
    other = {"realm": "other", "id": "acme", "defaultSignatureAlgorithm": "ES256"}
    found = await imports_everywhere.refused({**other, "realm": "third", "id": "3"}, other)
    assert found.keys() == {"1.json"}
    assert "Realm other already exists, or its id does" in str(found["1.json"])
    assert await imports_everywhere.realm_text("third") is None
    assert await imports_everywhere.realm_text("other") is None
