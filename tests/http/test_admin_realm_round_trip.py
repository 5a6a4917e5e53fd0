"""A realm that is exported and imported again is the same. Keycloak: realm export, realm import."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.made_realms import CREATED, DONE, exported, import_realm, make

CONFLICT, MISSING = 409, 404
NAME = "round-trip"
SHOP = "my shop"
CLAIM = {
    "name": "claim",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-hardcoded-claim-mapper",
    "config": {"claim.name": "c", "claim.value": "v", "access.token.claim": "true"},
}
REALM: dict[str, Any] = {
    "displayName": "Round trip",
    "roles": {
        "realm": [
            {
                "name": "boss",
                "description": "d",
                "composites": {"realm": ["worker"], "client": {SHOP: ["buy"]}},
                "attributes": {"a": ["1", "2"]},
            },
            {"name": "worker"},
            {"name": "a role"},
        ],
        "client": {SHOP: [{"name": "buy", "attributes": {"x": ["y"]}}, {"name": "sell"}]},
    },
    "groups": [
        {
            "name": "staff",
            "description": "the staff",
            "attributes": {"g": ["1"]},
            "realmRoles": ["worker"],
            "clientRoles": {SHOP: ["buy"]},
            "subGroups": [{"name": "juniors", "subGroups": [{"name": "interns"}]}],
        },
        {"name": "all new"},
    ],
    "defaultGroups": ["/all new"],
    "clients": [
        {
            "clientId": SHOP,
            "secret": SECRET,
            "serviceAccountsEnabled": True,
            "redirectUris": ["https://shop.test/*"],
            "protocolMappers": [CLAIM],
        },
        {"clientId": "page", "publicClient": True, "fullScopeAllowed": False},
        {"clientId": "UPPER case", "serviceAccountsEnabled": True},
        {"clientId": "resource", "bearerOnly": True},
    ],
    "scopeMappings": [{"client": "page", "roles": ["worker"]}],
    "clientScopeMappings": {SHOP: [{"client": "page", "roles": ["buy"]}]},
    "users": [
        {
            "username": "alice",
            "enabled": True,
            "email": "alice@shop.test",
            "attributes": {"department": ["1"]},
            "requiredActions": ["UPDATE_PASSWORD"],
            "realmRoles": ["boss"],
            "clientRoles": {SHOP: ["sell"]},
            "groups": ["/staff/juniors"],
            "credentials": [{"type": "password", "value": PASSWORD, "userLabel": "mine"}],
        },
        {
            "username": f"service-account-{SHOP}",
            "serviceAccountClientId": SHOP,
            "attributes": {"site": ["1"]},
            "realmRoles": ["worker"],
            "clientRoles": {SHOP: ["buy"]},
            "groups": ["/staff"],
        },
    ],
}


@pytest.fixture
def realm(administration: Administration) -> Iterator[str]:
    """Create a realm with clients, roles, groups and users of many kinds."""
    make(administration, NAME, **REALM)
    administration.tokens.clear()
    yield NAME
    assert administration.ask("DELETE", NAME).status_code == DONE


def account_of(administration: Administration, client_id: str) -> dict[str, Any]:
    (user,) = (
        user
        for user in exported(administration, NAME)["users"]
        if user.get("serviceAccountClientId") == client_id
    )
    assert isinstance(user, dict)
    return user


def test_a_service_account_is_imported_as_the_file_has_it(
    administration: Administration, realm: str
) -> None:
    account = account_of(administration, SHOP)
    assert account["username"] == f"service-account-{SHOP}"
    assert account["enabled"] is True
    assert (account["realmRoles"], account["clientRoles"]) == (["worker"], {SHOP: ["buy"]})
    assert (account["groups"], account["attributes"]) == (["/staff"], {"site": ["1"]})
    assert administration.fresh_token(SHOP, realm)


def test_a_service_account_with_a_space_keeps_attribute_changes(
    administration: Administration, realm: str
) -> None:
    account = account_of(administration, SHOP)["id"]
    changed = {"attributes": {"site": ["2"]}}
    answer = administration.ask("PUT", f"{realm}/users/{account}", document=changed)
    assert answer.status_code == DONE, answer.text
    assert account_of(administration, SHOP)["attributes"] == {"site": ["2"]}


def test_an_exported_realm_is_imported_with_its_ids_and_values(
    administration: Administration, realm: str
) -> None:
    done = administration.command("realm", "export", "--include-secrets", realm)
    assert done.exit_code == 0, done.output
    before = json.loads(done.stdout)
    assert administration.ask("DELETE", realm).status_code == DONE
    import_realm(administration, before)
    done = administration.command("realm", "export", "--include-secrets", realm)
    assert with_userinfo(json.loads(done.stdout)) == with_userinfo(before)


def with_userinfo(part: Any) -> Any:
    """Return a part of a file with the option that an import adds to mappers."""
    if isinstance(part, list):
        return [with_userinfo(item) for item in part]
    if not isinstance(part, dict):
        return part
    added = {"userinfo.token.claim": part["id.token.claim"]} if "id.token.claim" in part else {}
    return {**added, **{name: with_userinfo(value) for name, value in part.items()}}


REPEATED: dict[str, tuple[dict[str, Any], str]] = {
    "user": ({"users": [{"username": "a"}, {"username": "A"}]}, 'users: "a" twice given'),
    "address": (
        {"users": [{"username": n, "email": f"{at}@x.test"} for n, at in ("ae", "bE")]},
        'users: "e@x.test" twice given',
    ),
    "client": ({"clients": [{"clientId": "a"}] * 2}, 'clients: "a" twice given'),
    "realm role": ({"roles": {"realm": [{"name": "a"}] * 2}}, 'roles.realm: "a" twice given'),
    "role id": (
        {"roles": {"realm": [{"name": name, "id": "1"} for name in "ab"]}},
        'roles: "1" twice given',
    ),
    "group": ({"groups": [{"name": "a"}] * 2}, 'groups[1].name: "a" given'),
    "client scope": ({"clientScopes": [{"name": "a"}] * 2}, 'clientScopes: "a" twice given'),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_a_realm_with_a_name_twice_is_a_conflict(administration: Administration, kind: str) -> None:
    fields, text = REPEATED[kind]
    answer = administration.ask("POST", "", document={"realm": "repeated", **fields})
    assert answer.status_code == CONFLICT, answer.text
    assert answer.json()["errorMessage"].startswith(text)
    assert administration.ask("GET", "repeated").status_code == MISSING


def test_a_partial_import_with_a_user_twice_is_a_conflict(
    administration: Administration, realm: str
) -> None:
    users = {"users": [{"username": "twin"}] * 2}
    answer = administration.ask("POST", f"{realm}/partialImport", document=users)
    assert answer.status_code == CONFLICT
    assert "twin" not in [user["username"] for user in exported(administration, realm)["users"]]


def test_users_may_share_an_address_where_the_realm_allows_it(
    administration: Administration,
) -> None:
    users = [{"username": name, "email": "e@x.test"} for name in "ab"]
    make(administration, "shared", duplicateEmailsAllowed=True, users=users)
    assert administration.ask("DELETE", "shared").status_code == DONE


def test_a_partially_imported_service_account_matches_the_file(
    administration: Administration, realm: str
) -> None:
    client = {"clientId": "new one", "secret": SECRET, "serviceAccountsEnabled": True}
    account = {
        "username": "service-account-new one",
        "serviceAccountClientId": "new one",
        "attributes": {"site": ["3"]},
        "groups": ["/staff"],
        "realmRoles": ["worker"],
    }
    document = {"clients": [client], "users": [account]}
    answer = administration.ask("POST", f"{realm}/partialImport", document=document)
    assert answer.json()["added"] == 2, answer.text
    assert account.items() <= account_of(administration, "new one").items()
    assert administration.fresh_token("new one", realm)


def test_a_new_service_account_joins_the_default_groups(
    administration: Administration, realm: str
) -> None:
    assert account_of(administration, "UPPER case")["groups"] == ["/all new"]
    document = {"clientId": "posted", "serviceAccountsEnabled": True}
    assert administration.ask("POST", f"{realm}/clients", document=document).status_code == CREATED
    assert account_of(administration, "posted")["groups"] == ["/all new"]


def names(scopes: list[dict[str, Any]]) -> list[str]:
    return sorted(scope["name"] for scope in scopes)


def test_a_realm_with_own_scopes_has_them_and_offline_access(
    administration: Administration,
) -> None:
    make(
        administration,
        "scoped",
        clientScopes=[{"name": "own"}, {"name": "own-saml", "protocol": "saml"}],
        defaultDefaultClientScopes=["own", "own-saml"],
        defaultOptionalClientScopes=[],
        clients=[
            {"clientId": "usual", "serviceAccountsEnabled": True},
            {"clientId": "saml", "protocol": "saml"},
            {"clientId": "chosen", "defaultClientScopes": ["own", "unknown", "own-saml"]},
        ],
    )
    realm = exported(administration, "scoped")
    assert administration.ask("DELETE", "scoped").status_code == DONE
    assert names(realm["clientScopes"]) == ["offline_access", "own", "own-saml"]
    assert realm["defaultOptionalClientScopes"] == ["offline_access"]
    mapped = {"clientScope": "offline_access", "roles": ["offline_access"]}
    assert realm["scopeMappings"] == [mapped]
    given = {
        client["clientId"]: (client["defaultClientScopes"], client["optionalClientScopes"])
        for client in realm["clients"]
    }
    assert given["usual"] == (["own"], ["offline_access"])
    assert given["chosen"] == (["own"], [])
    assert given["saml"] == (["own-saml"], [])
    assert given["account"] == ([], ["offline_access"])


def test_a_new_saml_client_of_a_file_has_the_saml_scopes(administration: Administration) -> None:
    make(administration, "scoped", clients=[{"clientId": "saml", "protocol": "saml"}])
    realm = exported(administration, "scoped")
    assert administration.ask("DELETE", "scoped").status_code == DONE
    (client,) = (one for one in realm["clients"] if one["clientId"] == "saml")
    assert {"role_list", "AuthnContextClassRef"} <= set(client["defaultClientScopes"])
    assert client["optionalClientScopes"] == []


def test_an_exported_realm_names_its_default_role_with_its_id(
    administration: Administration, realm: str
) -> None:
    found = exported(administration, realm)
    name = f"default-roles-{realm}"
    (role,) = (role for role in found["roles"]["realm"] if role["name"] == name)
    assert (found["defaultRole"]["id"], found["defaultRole"]["name"]) == (role["id"], name)
