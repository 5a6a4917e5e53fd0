"""Adding, changing and removing clients over the admin API. Keycloak: 7.3, 8.4."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.wire import claims_of

ADMINISTRATORS = {
    "manager": ["manage-clients"],
    "keeper": ["manage-clients", "manage-users", "view-realm"],
}
DEFAULT = ["acr", "basic", "email", "profile", "roles", "web-origins"]
ALL_ACCESS = {"view": True, "configure": True, "manage": True}
OPTIONAL = ["address", "microprofile-jwt", "offline_access", "organization", "phone"]


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm."""
    with administered_realm(administration, "of-clients", ADMINISTRATORS) as made:
        yield made


def add(realm: AdministeredRealm, client_id: str, **fields: Any) -> dict[str, Any]:
    """Add a client and return it."""
    made = realm.change("POST", "clients", {"clientId": client_id, **fields})
    found: dict[str, Any] = realm.get(f"clients/{made}")
    return found


def changed(realm: AdministeredRealm, client: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Change a client and return it."""
    path = f"clients/{client['id']}"
    realm.change("PUT", path, fields)
    found: dict[str, Any] = realm.get(path)
    return found


def token(realm: AdministeredRealm, client_id: str, secret: str) -> httpx2.Response:
    """Ask for a token with the client's secret."""
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
    return realm.administration.http.post(
        f"/realms/{realm.name}/protocol/openid-connect/token", data=form
    )


def test_a_new_client_is_shown_as_keycloak_shows_it(realm: AdministeredRealm) -> None:
    client = add(realm, "plain")
    secret, attributes = client.pop("secret"), client.pop("attributes")
    assert len(secret) >= 32
    assert attributes.pop("client.secret.creation.time").isdecimal()
    assert attributes == {"realm_client": "false"}
    assert list(client.items()) == [
        ("id", client["id"]),
        ("clientId", "plain"),
        ("surrogateAuthRequired", False),
        ("enabled", True),
        ("alwaysDisplayInConsole", False),
        ("clientAuthenticatorType", "client-secret"),
        ("redirectUris", []),
        ("webOrigins", []),
        ("notBefore", 0),
        ("bearerOnly", False),
        ("consentRequired", False),
        ("standardFlowEnabled", True),
        ("implicitFlowEnabled", False),
        ("directAccessGrantsEnabled", False),
        ("serviceAccountsEnabled", False),
        ("publicClient", False),
        ("frontchannelLogout", False),
        ("protocol", "openid-connect"),
        ("authenticationFlowBindingOverrides", {}),
        ("fullScopeAllowed", True),
        ("nodeReRegistrationTimeout", -1),
        ("defaultClientScopes", DEFAULT),
        ("optionalClientScopes", OPTIONAL),
        ("access", {"view": True, "configure": True, "manage": True}),
    ]
    order = list(realm.get(f"clients/{client['id']}"))
    assert order[order.index("secret") - 1] == "clientAuthenticatorType"


def test_the_answer_to_a_new_client_says_where_it_is(realm: AdministeredRealm) -> None:
    response = realm.ask("POST", "clients", {"clientId": "placed", "id": "own-id"})
    assert (response.status_code, response.content) == (201, b"")
    place = f"https://gateway.test/admin/realms/{realm.name}/clients/own-id"
    assert response.headers["location"] == place


def test_a_client_without_a_name_is_named_by_its_id(realm: AdministeredRealm) -> None:
    made = realm.change("POST", "clients", {})
    assert realm.get(f"clients/{made}")["clientId"] == made


def test_a_name_and_an_id_are_taken_once(realm: AdministeredRealm) -> None:
    add(realm, "taken", id="taken-id")
    assert realm.refused("POST", "clients", {"clientId": "taken"}) == (
        409,
        {"errorMessage": "Client taken already exists"},
    )
    status, _ = realm.refused("POST", "clients", {"clientId": "another", "id": "taken-id"})
    assert status == 409
    assert realm.get("clients?clientId=another") == []


def test_of_two_who_add_the_same_client_at_once_one_does(realm: AdministeredRealm) -> None:
    def once(_: int) -> int:
        document = {"clientId": "raced", "serviceAccountsEnabled": True}
        return realm.ask("POST", "clients", document).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(once, range(4))) == [201, 409, 409, 409]


@pytest.mark.parametrize(
    ("sent", "default", "optional"),
    [
        ({}, DEFAULT, OPTIONAL),
        ({"defaultClientScopes": ["email"]}, ["email"], []),
        ({"optionalClientScopes": []}, [], []),
        ({"defaultClientScopes": ["email", "nobody's", "role_list"]}, ["email"], []),
        (
            {"defaultClientScopes": ["email"], "optionalClientScopes": ["email", "phone"]},
            ["email"],
            ["phone"],
        ),
    ],
)
def test_a_client_that_names_no_scopes_has_those_of_the_realm(
    realm: AdministeredRealm, sent: dict[str, Any], default: list[str], optional: list[str]
) -> None:
    made = realm.change("POST", "clients", sent)
    client = realm.get(f"clients/{made}")
    assert (client["defaultClientScopes"], client["optionalClientScopes"]) == (default, optional)


def test_a_service_account_comes_with_the_client(realm: AdministeredRealm) -> None:
    client = add(realm, "served", serviceAccountsEnabled=True, defaultClientScopes=["roles"])
    assert client["defaultClientScopes"] == ["roles", "service_account"]
    claims = claims_of(token(realm, "served", client["secret"]).json()["access_token"])
    account = realm.get(f"users/{claims['sub']}")
    assert account["username"] == "service-account-served"
    assert f"default-roles-{realm.name}" in claims["realm_access"]["roles"]


def test_a_user_of_the_service_accounts_name_is_in_the_way(realm: AdministeredRealm) -> None:
    realm.change("POST", "users", {"username": "service-account-blocked", "enabled": True})
    blocked = {"clientId": "blocked", "serviceAccountsEnabled": True}
    refusal = (409, {"errorMessage": "Client blocked already exists"})
    assert realm.refused("POST", "clients", blocked) == refusal
    assert realm.get("clients?clientId=blocked") == []


def test_a_given_secret_is_the_secret_and_a_mask_is_none(realm: AdministeredRealm) -> None:
    assert add(realm, "chosen", secret="my own")["secret"] == "my own"
    assert len(add(realm, "masked", secret="**********")["secret"]) >= 32
    refused = realm.ask("POST", "clients", {"clientId": "blank", "secret": ""})
    assert (refused.status_code, "secret" in refused.text) == (400, True)


def test_a_public_client_has_no_secret(realm: AdministeredRealm) -> None:
    client = add(realm, "public", publicClient=True, secret="none")
    assert "secret" not in client
    confidential = changed(realm, client, publicClient=False)
    assert len(confidential["secret"]) >= 32
    assert "secret" not in changed(realm, client, publicClient=True)
    assert changed(realm, client, publicClient=False)["secret"] != confidential["secret"]


def test_a_client_may_be_called_from_where_it_redirects_to(realm: AdministeredRealm) -> None:
    client = add(realm, "called", redirectUris=["https://a.test/*", "/x"])
    assert client["webOrigins"] == ["https://a.test"]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"serviceAccountsEnabled": True, "attributes": {"b": "2", "a": "1"}},
        {"publicClient": True, "redirectUris": ["https://b/*", "https://a/*"], "name": ""},
        {
            "clientAuthenticatorType": "client-x509",
            "attributes": {
                "x509.subjectdn": "CN=a",
                "x509.allow.regex.pattern.comparison": "false",
                "tls.client.certificate.bound.access.tokens": "true",
            },
        },
        {"registeredNodes": {"n": 5}, "authorizationServicesEnabled": True},
        {
            "protocolMappers": [
                {
                    "name": "m",
                    "protocol": "openid-connect",
                    "protocolMapper": "oidc-audience-mapper",
                    "config": {"included.custom.audience": "x"},
                }
            ]
        },
        {"baseUrl": "/x", "rootUrl": "${authBaseUrl}", "adminUrl": "https://a", "type": "t"},
    ],
)
def test_what_is_read_and_sent_back_changes_nothing(
    realm: AdministeredRealm, fields: dict[str, Any]
) -> None:
    path = f"clients/{realm.change('POST', 'clients', fields)}"
    before = realm.ask("GET", path)
    assert realm.ask("PUT", path, before.json()).status_code == 204
    assert realm.ask("GET", path).content == before.content


def test_what_a_built_in_client_shows_may_be_sent_back(realm: AdministeredRealm) -> None:
    (before,) = realm.get("clients?clientId=account")
    assert changed(realm, before, **before) == before


@pytest.mark.parametrize(
    ("sent", "field", "after"),
    [
        ({}, "description", "old"),
        ({"description": None}, "description", "old"),
        ({"description": ""}, "description", ""),
        ({"redirectUris": []}, "redirectUris", []),
        ({"defaultClientScopes": [], "optionalClientScopes": []}, "defaultClientScopes", DEFAULT),
        ({"attributes": {"b": "3"}}, "attributes", {"a": "1", "b": "3"}),
        ({"attributes": {"b": ""}}, "attributes", {"a": "1"}),
        ({"attributes": {}}, "attributes", {"a": "1", "b": "2"}),
        ({"id": "another"}, "clientId", None),
        ({"notBefore": 100}, "notBefore", 100),
        ({"fullScopeAllowed": "false"}, "fullScopeAllowed", False),
        ({"access": {"manage": False}}, "access", ALL_ACCESS),
    ],
)
def test_what_is_not_sent_stays(
    realm: AdministeredRealm, sent: dict[str, Any], field: str, after: Any
) -> None:
    made = realm.change(
        "POST",
        "clients",
        {"description": "old", "redirectUris": ["https://a"], "attributes": {"a": "1", "b": "2"}},
    )
    before = realm.get(f"clients/{made}")
    client = changed(realm, before, **sent)
    kept = {"realm_client", "client.secret.creation.time"}
    shown = {name: text for name, text in client["attributes"].items() if name not in kept}
    value = shown if field == "attributes" else client[field]
    assert value == (before[field] if after is None else after)
    rest = {*before} - {field, *sent}
    assert {name: client[name] for name in rest} == {name: before[name] for name in rest}


def test_a_new_secret_works_at_once_and_the_old_one_no_longer(realm: AdministeredRealm) -> None:
    client = add(realm, "rotating", serviceAccountsEnabled=True, secret="old")
    assert token(realm, "rotating", "old").status_code == 200
    changed(realm, client, secret="new")
    assert token(realm, "rotating", "old").status_code == 401
    assert token(realm, "rotating", "new").status_code == 200
    assert changed(realm, client, secret="**********")["secret"] == "new"


def test_a_renamed_client_takes_its_service_account_along(realm: AdministeredRealm) -> None:
    client = add(realm, "before", serviceAccountsEnabled=True, secret="s")
    account = claims_of(token(realm, "before", "s").json()["access_token"])["sub"]
    changed(realm, client, clientId="After")
    assert token(realm, "before", "s").status_code == 401
    assert claims_of(token(realm, "After", "s").json()["access_token"])["sub"] == account
    assert realm.get(f"users/{account}")["username"] == "service-account-after"


def test_a_client_does_not_take_anothers_name(realm: AdministeredRealm) -> None:
    client = add(realm, "first", serviceAccountsEnabled=True)
    add(realm, "second")
    realm.change("POST", "users", {"username": "service-account-third", "enabled": True})
    refusal = (409, {"error": "conflict", "error_description": "Duplicate resource error"})
    for name in ("second", "third"):
        assert realm.refused("PUT", f"clients/{client['id']}", {"clientId": name}) == refusal
    assert realm.get(f"clients/{client['id']}")["clientId"] == "first"


def test_a_service_account_goes_and_comes_anew(realm: AdministeredRealm) -> None:
    client = add(realm, "switched", serviceAccountsEnabled=True, secret="s")
    first = claims_of(token(realm, "switched", "s").json()["access_token"])["sub"]
    without = changed(realm, client, serviceAccountsEnabled=False)
    assert without["defaultClientScopes"] == DEFAULT
    assert token(realm, "switched", "s").status_code == 401
    assert realm.refused("GET", f"users/{first}")[0] == 404
    again = changed(realm, client, serviceAccountsEnabled=True)
    assert "service_account" in again["defaultClientScopes"]
    assert claims_of(token(realm, "switched", "s").json()["access_token"])["sub"] != first


def test_a_removed_client_is_gone_with_its_account(realm: AdministeredRealm) -> None:
    client = add(realm, "leaving", serviceAccountsEnabled=True, secret="s")
    account = claims_of(token(realm, "leaving", "s").json()["access_token"])["sub"]
    path = f"clients/{client['id']}"
    realm.change("POST", f"{path}/roles", {"name": "role"})
    assert realm.ask("DELETE", path).status_code == 204
    assert realm.refused("GET", path) == (404, {"error": "Could not find client"})
    assert realm.refused("DELETE", path) == (404, {"error": "Could not find client"})
    assert token(realm, "leaving", "s").status_code == 401
    assert realm.refused("GET", f"users/{account}")[0] == 404
    again = add(realm, "leaving", id=client["id"])
    assert realm.get(f"clients/{again['id']}/roles") == []


def test_tokens_follow_renamed_clients_whose_roles_they_carry(
    realm: AdministeredRealm,
) -> None:
    owner = add(realm, "owner")
    holder = add(realm, "holder", serviceAccountsEnabled=True, secret="s")
    roles = f"clients/{owner['id']}/roles"
    realm.change("POST", roles, {"name": "reader"})
    account = realm.get(f"clients/{holder['id']}/service-account-user")["id"]
    mapping = f"users/{account}/role-mappings/clients/{owner['id']}"
    realm.change("POST", mapping, [realm.get(f"{roles}/reader")])

    def carried() -> set[str]:
        claims = claims_of(token(realm, "holder", "s").json()["access_token"])
        return {*claims.get("resource_access", {})} - {"account"}

    assert carried() == {"owner"}
    changed(realm, owner, clientId="renamed-owner")
    assert carried() == {"renamed-owner"}
    realm.change("DELETE", f"clients/{owner['id']}")
    assert carried() == set()


@pytest.mark.parametrize(
    "name", ["account", "account-console", "admin-cli", "broker", "security-admin-console"]
)
def test_what_every_realm_has_stays(realm: AdministeredRealm, name: str) -> None:
    (client,) = realm.get(f"clients?clientId={name}")
    refusal = (400, {"error": "invalid_request", "error_description": "Could not delete client"})
    assert realm.refused("DELETE", f"clients/{client['id']}") == refusal
    assert realm.get(f"clients/{client['id']}") == client


def test_nobody_changes_the_client_of_administrative_roles(realm: AdministeredRealm) -> None:
    (client,) = realm.get("clients?clientId=realm-management")
    assert client["access"] == {"view": True, "configure": False, "manage": False}
    path, forbidden = f"clients/{client['id']}", (403, {"error": "HTTP 403 Forbidden"})
    assert realm.refused("PUT", path, {"description": "x"}) == forbidden
    assert realm.refused("DELETE", path) == forbidden
    assert realm.get(path) == client


def test_nobody_makes_a_client_of_administrative_roles(administration: Administration) -> None:
    document = {"clientId": "of-a-realm-to-come-realm"}
    assert administration.ask("POST", "master/clients", document=document).status_code == 403
    made = administration.ask("POST", "master/clients", document={"clientId": "to-rename"})
    path = f"master/clients/{made.headers['location'].rpartition('/')[2]}"
    assert administration.ask("PUT", path, document=document).status_code == 403
    assert administration.ask("GET", path).json()["clientId"] == "to-rename"
    assert administration.ask("DELETE", path).status_code == 204


def test_a_change_may_say_what_it_knew(realm: AdministeredRealm) -> None:
    path = f"clients/{add(realm, 'tagged')['id']}"
    tag = realm.ask("GET", path).headers["etag"]
    assert realm.ask("PUT", path, {"name": "one"}, If_Match=tag).status_code == 204
    for method, document in (("PUT", {"name": "two"}), ("DELETE", None)):
        assert realm.ask(method, path, document, If_Match=tag).status_code == 412
    assert realm.get(path)["name"] == "one"
    tag = realm.ask("GET", path).headers["etag"]
    assert realm.ask("DELETE", path, If_Match=tag).status_code == 204


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("client_id", ["nobody", "x" * 300, "client-of-nobody", "a%2Fb", "%E2%98"])
def test_a_client_that_is_not_there_is_missing(
    realm: AdministeredRealm, method: str, client_id: str
) -> None:
    document = {"enabled": False} if method == "PUT" else None
    refusal = (404, {"error": "Could not find client"})
    assert realm.refused(method, f"clients/{client_id}", document) == refusal


def test_a_client_of_another_realm_is_missing(administration: Administration) -> None:
    (theirs,) = administration.ask("GET", "acme/clients?clientId=nobody").json()
    path = f"other/clients/{theirs['id']}"
    for method, document in (("GET", None), ("PUT", {"enabled": False}), ("DELETE", None)):
        assert administration.ask(method, path, document=document).status_code == 404
    assert administration.ask("GET", f"acme/clients/{theirs['id']}").json() == theirs
