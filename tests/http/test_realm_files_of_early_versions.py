"""Realm files of Keycloak 1 to 17 act as Keycloak 26.7 lets them act.

Keycloak: realm import (26.7), members of former versions and migration
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administration import Administration
from tests.support.made_realms import CREATED, OK
from tests.support.realm_file_imports import FOLDER
from tests.support.wire import claims_of

FILES = ("applications", "client-templates", "mixed-alternatives", "former-keys-and-accounts")
REALMS = {name: json.loads((FOLDER / f"{name}.json").read_text())["realm"] for name in FILES}


@pytest.fixture(scope="module")
def reports(administration: Administration) -> Iterator[dict[str, Any]]:
    """Create the realms of the files; yield the reports of their imports."""
    found = {}
    for name in FILES:
        text = (FOLDER / f"{name}.json").read_bytes()
        answer = administration.ask("POST", "", content=text)
        assert answer.status_code == CREATED, answer.text
        found[name] = json.loads(answer.headers.get("Realmgate-Import-Report", "{}"))
    yield found
    for realm in REALMS.values():
        administration.ask("DELETE", realm)


def _client(administration: Administration, realm: str, client_id: str) -> dict[str, Any]:
    path = f"{realm}/clients?clientId={client_id}"
    (client,) = administration.ask("GET", path).json()
    return dict(client)


def _token(
    administration: Administration, realm: str, client: str, user: str, password: str
) -> dict[str, Any]:
    secret = b64encode(f"{client}:{client}-secret".encode()).decode()
    answer = administration.http.post(
        f"/realms/{realm}/protocol/openid-connect/token",
        data={"grant_type": "password", "username": user, "password": password},
        headers={"Authorization": f"Basic {secret}"},
    )
    assert answer.status_code == OK, answer.text
    return claims_of(answer.json()["access_token"])


@pytest.mark.usefixtures("reports")
def test_applications_are_clients_with_their_roles(administration: Administration) -> None:
    claims = _token(administration, "applications", "warehouse", "ida", "pw-ida-1")
    assert sorted(claims["resource_access"]["warehouse"]["roles"]) == ["all", "stock"]
    assert "guest" in claims["realm_access"]["roles"]
    printer = _client(administration, "applications", "printer")
    assert (printer["consentRequired"], printer["fullScopeAllowed"]) == (True, False)
    path = f"applications/clients/{printer['id']}/scope-mappings"
    mapped = administration.ask("GET", path).json()
    assert [role["name"] for role in mapped["realmMappings"]] == ["guest"]
    (of_warehouse,) = mapped["clientMappings"].values()
    assert [role["name"] for role in of_warehouse["mappings"]] == ["stock"]
    composites = administration.ask("GET", "applications/roles/keeper/composites").json()
    assert [role["name"] for role in composites] == ["stock"]


def test_what_became_clients_is_not_reported_as_lost(reports: dict[str, Any]) -> None:
    lost = [each["member"] for name in FILES[:2] for each in reports[name].get("lost", ())]
    assert lost == []


@pytest.mark.usefixtures("reports")
def test_a_client_template_is_a_client_scope(administration: Administration) -> None:
    claims = _token(administration, "templates", "line-1", "tom", "pw-tom-11")
    assert claims["plant"] == "north"
    assert claims["preferred_username"] == "tom"
    assert claims["sub"]
    line = _client(administration, "templates", "line-1")
    assert {"plant_claims", "roles", "basic"} <= set(line["defaultClientScopes"])
    account = _client(administration, "templates", "account")
    assert account["baseUrl"] == "/realms/templates/account/"


@pytest.mark.usefixtures("reports")
def test_settings_of_version_3_become_those_of_today(administration: Administration) -> None:
    realm = administration.ask("GET", "templates").json()
    assert realm["passwordPolicy"] == "length(8)"
    actions = administration.ask("GET", "templates/authentication/required-actions").json()
    places = {action["alias"]: action["priority"] for action in actions}
    order = ("CONFIGURE_TOTP", "VERIFY_EMAIL", "update_user_locale")
    assert [places[alias] for alias in order] == [31, 30, 1000]


@pytest.mark.usefixtures("reports")
def test_alternatives_beside_a_required_step_count(administration: Administration) -> None:
    path = "alternatives/authentication/flows/plant%20browser/executions"
    found = administration.ask("GET", path).json()
    shown = [(each["level"], each["displayName"], each["requirement"]) for each in found]
    assert shown == [
        (0, "plant browser - Alternatives - 0", "REQUIRED"),
        (1, "Cookie", "ALTERNATIVE"),
        (1, "Username Password Form", "ALTERNATIVE"),
        (0, "OTP Form", "REQUIRED"),
    ]


@pytest.mark.usefixtures("reports")
def test_clients_get_the_scopes_that_came_later(administration: Administration) -> None:
    app = _client(administration, "alternatives", "app")
    later = ["acr", "basic", "email", "roles", "web-origins"]
    assert sorted(app["defaultClientScopes"]) == later
    assert app["optionalClientScopes"] == ["microprofile-jwt"]
    api = _client(administration, "alternatives", "api")
    assert api["defaultClientScopes"] == ["email"]


@pytest.mark.usefixtures("reports")
def test_an_rsa_key_for_encryption_encrypts(administration: Administration) -> None:
    keys = administration.ask("GET", "former-keys/keys").json()["keys"]
    by_name = {
        (key["algorithm"], key["use"]) for key in keys if key["providerPriority"] in (90, 100)
    }
    assert {("RS256", "SIG"), ("RSA-OAEP", "ENC")} <= by_name
    profile = administration.ask("GET", "former-keys/users/profile").json()
    assert profile["unmanagedAttributePolicy"] == "ENABLED"


def test_a_service_account_of_another_name_is_imported(
    administration: Administration, reports: dict[str, Any]
) -> None:
    robot = _client(administration, "former-keys", "robot")
    path = f"former-keys/clients/{robot['id']}/service-account-user"
    assert administration.ask("GET", path).json()["username"] == "service-account-robot"
    report = reports["former-keys-and-accounts"]["withoutEffect"]
    assert {"users.username": ["robby"]}.items() <= {
        each["member"]: each["names"] for each in report
    }.items()


@pytest.mark.usefixtures("reports")
def test_mappers_without_options_act_as_in_their_version(administration: Administration) -> None:
    """Audiences and origins had no option where they go, before version 23."""
    http, secret = administration.http, {"client_id": "robot", "client_secret": "robot-secret"}
    path = "/realms/former-keys/protocol/openid-connect/token"
    answer = http.post(path, data={"grant_type": "client_credentials", **secret})
    assert answer.status_code == OK, answer.text
    claims = claims_of(answer.json()["access_token"])
    assert claims["aud"] == "account"
    assert claims["allowed-origins"] == ["https://robot.example"]


@pytest.mark.usefixtures("reports")
def test_the_account_console_shows_groups(administration: Administration) -> None:
    console = _client(administration, "former-keys", "account-console")
    path = f"former-keys/clients/{console['id']}/scope-mappings"
    (mapped,) = administration.ask("GET", path).json()["clientMappings"].values()
    assert "view-groups" in [role["name"] for role in mapped["mappings"]]


def test_a_member_twice_is_in_the_report_of_a_request(administration: Administration) -> None:
    body = b'{"realm": "twice", "enabled": false, "enabled": true}'
    answer = administration.ask("POST", "", content=body)
    try:
        assert answer.status_code == CREATED
        (lost,) = json.loads(answer.headers["Realmgate-Import-Report"])["lost"]
        assert (lost["member"], lost["names"]) == ("repeated members", ["enabled"])
        body = b'{"ifResourceExists": "SKIP", "users": [{"username": "a", "username": "b"}]}'
        answer = administration.ask("POST", "twice/partialImport", content=body)
        assert answer.status_code == OK, answer.text
        (lost,) = json.loads(answer.headers["Realmgate-Import-Report"])["lost"]
        assert lost["names"] == ["username"]
    finally:
        administration.ask("DELETE", "twice")


def test_a_default_group_is_shown_with_its_description(administration: Administration) -> None:
    below = {"name": "kid", "description": "of the plant"}
    groups = [{"name": "top", "subGroups": [below]}]
    body = {"realm": "described", "groups": groups, "defaultGroups": ["/top/kid"]}
    created = administration.ask("POST", "", content=json.dumps(body).encode())
    try:
        assert created.status_code == CREATED, created.text
        (shown,) = administration.ask("GET", "described/default-groups").json()
        assert shown["description"] == "of the plant"
        assert sorted(shown) == ["description", "id", "name", "parentId", "path", "subGroups"]
    finally:
        administration.ask("DELETE", "described")
