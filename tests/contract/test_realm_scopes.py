"""The client scopes of realm files: read, changed and written back. Keycloak: realm import."""

import json
from typing import Any

import pytest

from gateway.domain.ports.users import HolderKind
from tests.support.realm_imports import ELLIPTIC, Imports
from tests.support.realm_texts import export_realm

MAPPER = {
    "name": "team",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-usermodel-attribute-mapper",
    "config": {"user.attribute": "team", "claim.name": "team"},
}
SCOPES: list[dict[str, Any]] = [
    {"name": "teams", "description": "d", "protocolMappers": [MAPPER], "attributes": {"a": "b"}},
    {"name": "extra"},
]
REALM: dict[str, Any] = {
    "realm": "acme",
    **ELLIPTIC,
    "clientScopes": SCOPES,
    "defaultDefaultClientScopes": ["teams"],
    "defaultOptionalClientScopes": ["extra"],
    "roles": {
        "realm": [{"name": "boss", "attributes": {"floor": ["5", "6"]}}],
        "client": {"shop": [{"name": "seller"}]},
    },
    "clients": [{"clientId": "shop", "fullScopeAllowed": False}, {"clientId": "till"}],
    "scopeMappings": [{"clientScope": "teams", "roles": ["boss"]}],
    "clientScopeMappings": {"shop": [{"client": "till", "roles": ["seller"]}]},
}


async def written(imports: Imports) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        await export_realm(imports.database, "acme", include_secrets=True)
    )
    return found


async def test_a_new_realm_has_the_file_scopes_and_offline_access(
    imports_everywhere: Imports,
) -> None:
    await imports_everywhere.run(REALM)
    found = await written(imports_everywhere)
    scopes = {scope["name"]: scope for scope in found["clientScopes"]}
    assert scopes.keys() == {"teams", "extra", "offline_access"}
    assert (scopes["teams"]["description"], scopes["teams"]["attributes"]) == ("d", {"a": "b"})
    (mapper,) = scopes["teams"]["protocolMappers"]
    assert mapper["config"] == MAPPER["config"]
    assert found["defaultDefaultClientScopes"] == ["teams"]
    assert set(found["defaultOptionalClientScopes"]) == {"extra", "offline_access"}
    offline = {"clientScope": "offline_access", "roles": ["offline_access"]}
    teams = {"clientScope": "teams", "roles": ["boss"]}
    assert sorted(found["scopeMappings"], key=str) == [offline, teams]
    assert found["clientScopeMappings"]["shop"] == [{"client": "till", "roles": ["seller"]}]


async def test_a_new_realm_without_scopes_in_its_file_has_keycloaks(
    imports: Imports,
) -> None:
    await imports.run({"realm": "acme", **ELLIPTIC, "defaultOptionalClientScopes": ["email"]})
    found = await written(imports)
    assert {"profile", "email", "offline_access"} <= {
        scope["name"] for scope in found["clientScopes"]
    }
    assert found["defaultOptionalClientScopes"] == ["email"]
    assert "profile" in found["defaultDefaultClientScopes"]
    assert "email" not in found["defaultDefaultClientScopes"]


def scopes_of(found: dict[str, Any], client: str) -> tuple[set[str], set[str]]:
    (shown,) = (each for each in found["clients"] if each["clientId"] == client)
    return set(shown["defaultClientScopes"]), set(shown["optionalClientScopes"])


async def test_a_client_without_scopes_has_the_defaults_of_the_file(
    imports: Imports,
) -> None:
    own = {"clientId": "own", "defaultClientScopes": ["extra"]}
    document = {**REALM, "clients": [*REALM["clients"], own]}
    document["clientScopes"] = [*SCOPES, {"name": "old", "protocol": "saml"}]
    document["defaultDefaultClientScopes"] = ["teams", "old"]
    await imports.run(document)
    found = await written(imports)
    assert scopes_of(found, "till") == ({"teams"}, {"extra", "offline_access"})
    assert scopes_of(found, "own") == ({"extra"}, set())
    await imports.run({"realm": "acme", "clients": [{"clientId": "later"}]})
    assert scopes_of(await written(imports), "later") == ({"teams"}, {"extra", "offline_access"})


async def test_lists_without_scopes_select_among_the_built_in_scopes(
    imports: Imports,
) -> None:
    lists = {"defaultDefaultClientScopes": ["phone"], "clients": [{"clientId": "till"}]}
    await imports.run({"realm": "acme", **ELLIPTIC, **lists})
    default, optional = scopes_of(await written(imports), "till")
    assert default == {"phone"}
    assert {"address", "offline_access"} <= optional
    assert "phone" not in optional


async def test_a_known_scope_is_changed_and_none_is_removed(imports: Imports) -> None:
    await imports.run(REALM)
    before = await written(imports)
    change = {"name": "extra", "description": "more", "id": "another"}
    await imports.run({"realm": "acme", "clientScopes": [change]})
    after = await written(imports)
    assert after["clientScopes"] == [
        {**scope, "description": "more"} if scope["name"] == "extra" else scope
        for scope in before["clientScopes"]
    ]
    assert after["defaultDefaultClientScopes"] == ["teams"]


async def test_an_exported_realm_is_imported_to_the_same_text(
    imports_everywhere: Imports,
) -> None:
    await imports_everywhere.run(REALM)
    before = await written(imports_everywhere)
    await imports_everywhere.run({**before, "realm": "copy", "id": "copy"})
    text = await export_realm(imports_everywhere.database, "copy", include_secrets=True)
    copy = json.loads(text)
    for name in (
        "clientScopes",
        "defaultDefaultClientScopes",
        "defaultOptionalClientScopes",
        "scopeMappings",
        "clientScopeMappings",
    ):
        assert copy[name] == before[name]
    roles = {role["name"]: role["attributes"] for role in copy["roles"]["realm"]}
    assert roles["boss"] == {"floor": ["5", "6"]}
    await imports_everywhere.run(copy)
    again = await export_realm(imports_everywhere.database, "copy", include_secrets=True)
    assert again == text


async def test_a_role_in_a_scope_stays_there(imports: Imports) -> None:
    await imports.run(REALM)
    await imports.run({"realm": "acme", "scopeMappings": [{"client": "till", "roles": ["boss"]}]})
    async with imports.database.read() as stores:
        of_clients = await stores.role_scopes.list_roles_in_scope("acme", HolderKind.CLIENT)
        (till,) = await stores.clients.named("acme", ["till"])
        names = {role.id: role.name for role in await stores.roles.list_roles("acme")}
    assert {names[role] for role in of_clients[till.id]} == {"boss", "seller"}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"clientScopes": {}}, "clientScopes"),
        ({"clientScopes": ["x"]}, "clientScopes[0]"),
        ({"clientScopes": [{}]}, "clientScopes[0].name"),
        ({"clientScopes": [{"name": "a b"}]}, "clientScopes[0].name"),
        ({"clientScopes": [{"name": "a"}, {"name": "a"}]}, "clientScopes"),
        ({"defaultDefaultClientScopes": ["nobody"]}, "defaultDefaultClientScopes"),
        ({"defaultOptionalClientScopes": ["nobody"]}, "defaultOptionalClientScopes"),
        ({"default_optional_client_scopes": ["x y"]}, "default_optional_client_scopes[0]"),
        ({"scopeMappings": {}}, "scopeMappings"),
        ({"scopeMappings": [{"roles": []}]}, "scopeMappings[0]"),
        ({"scopeMappings": [{"client": "a", "clientScope": "b"}]}, "scopeMappings[0]"),
        ({"scopeMappings": [{"client": "no", "roles": []}]}, "scopeMappings[0].client"),
        ({"scopeMappings": [{"clientScope": "no", "roles": []}]}, "scopeMappings[0].clientScope"),
        ({"scopeMappings": [{"client": "account", "roles": ["no"]}]}, "scopeMappings[0].roles"),
        ({"scopeMappings": [{"client": "account", "hat": 1}]}, "scopeMappings[0].hat"),
        ({"clientScopeMappings": []}, "clientScopeMappings"),
        ({"clientScopeMappings": {"account": {}}}, "clientScopeMappings.account"),
        (
            {"clientScopeMappings": {"account": [{"client": "account", "roles": ["no"]}]}},
            "clientScopeMappings.account[0].roles.account",
        ),
    ],
)
async def test_what_is_wrong_with_scopes_is_told_and_nothing_is_stored(
    imports: Imports, change: dict[str, Any], place: str
) -> None:
    errors = await imports.refused({"realm": "acme", **ELLIPTIC, **change})
    assert list(errors) == [f"0.json: {place}"]
    assert await imports.realm_text("acme") is None
