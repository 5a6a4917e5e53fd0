"""What the server tells of itself, and of who asks. Keycloak: 7.5."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from gateway import __version__
from gateway.client_policies import CONDITIONS, EXECUTORS
from gateway.domain.keys import KeyProvider
from gateway.listeners import LISTENERS
from gateway.password_policies import POLICIES
from gateway.protocol.claims import CLAIM_MAPPERS
from gateway.protocol.client_authentication import METHODS
from gateway.protocol.grants import GRANTS
from gateway.representations.client_scopes import MAPPER_DESCRIPTIONS
from gateway.representations.realms.special_fields import RULES
from gateway.representations.server_info import render_password_policies
from tests.support.administered_realm import (
    SIGN_IN,
    AdministeredRealm,
    administered_realm,
    client_in_sql,
    person,
)
from tests.support.administration import PASSWORD, Administration


def ask(administration: Administration, path: str, token: str | None = None) -> tuple[int, Any]:
    bearer = {"Authorization": f"Bearer {token or administration.token()}"}
    response = administration.http.get(path, headers=bearer)
    return response.status_code, response.json()


def info(administration: Administration, client: str = "root", realm: str = "master") -> Any:
    token = administration.token(client, realm)
    status, found = ask(administration, "/admin/serverinfo", token)
    assert status == 200
    return found


def test_the_info_has_a_keycloak_version_and_the_program_name(
    administration: Administration,
) -> None:
    system = info(administration)["systemInfo"]
    assert re.fullmatch(r"26\.\d+\.\d+", system["version"])
    assert (system["product"], system["productVersion"]) == ("Realmgate", __version__)


def test_what_is_listed_is_what_there_is(administration: Administration) -> None:
    found = info(administration)
    providers = {kind: set(each["providers"]) for kind, each in found["providers"].items()}
    assert providers["oauth2-grant-type"] == set(GRANTS)
    assert providers["password-policy"] == set(RULES)
    assert providers["protocol-mapper"] == set(CLAIM_MAPPERS)
    secrets, keys = {"client-secret", "client-secret-jwt"}, {"client-jwt", "client-x509"}
    assert providers["client-authenticator"] == secrets | keys
    assert "nginx" in providers["x509cert-lookup"]
    assert providers["eventsListener"] == set(LISTENERS)
    assert providers["client-policy-condition"] == set(CONDITIONS)
    assert providers["client-policy-executor"] == set(EXECUTORS)
    types = {each["id"]: each for each in found["protocolMapperTypes"]["openid-connect"]}
    assert set(types) == set(CLAIM_MAPPERS)
    audience = {each["name"] for each in types["oidc-audience-mapper"]["properties"]}
    assert {"included.client.audience", "access.token.claim"} <= audience
    key_types = found["componentTypes"]["org.keycloak.keys.KeyProvider"]
    assert {each["id"] for each in key_types} >= {"rsa", "rsa-generated", "ecdsa-generated"}
    built_in = {each["name"]: each for each in found["builtinProtocolMappers"]["openid-connect"]}
    assert built_in["email"]["config"]["claim.name"] == "email"
    installed = {each["id"] for each in found["clientInstallations"]["openid-connect"]}
    assert "keycloak-oidc-keycloak-json" in installed
    assert set(found["themes"]) >= {"login", "email", "account", "admin"}


def test_themes_are_named_as_clients_look_them_up(administration: Administration) -> None:
    """Terraform refuses a realm whose theme is not listed."""
    themes = info(administration)["themes"]
    named = {kind: {theme["name"] for theme in listed} for kind, listed in themes.items()}
    assert named == {
        "account": {"base", "keycloak.v3", "acme"},
        "admin": {"base", "keycloak.v2"},
        "common": {"keycloak"},
        "email": {"base", "keycloak", "acme"},
        "login": {"base", "keycloak", "keycloak.v2", "acme"},
        "welcome": {"keycloak"},
    }


def test_component_types_are_those_that_there_are(administration: Administration) -> None:
    types = info(administration)["componentTypes"]
    ids = {kind: {each["id"] for each in listed} for kind, listed in types.items()}
    assert ids["org.keycloak.keys.KeyProvider"] == set(KeyProvider)
    assert ids["org.keycloak.protocol.ProtocolMapper"] == set(CLAIM_MAPPERS)
    assert ids["org.keycloak.authentication.ClientAuthenticator"] == set(METHODS)
    assert "auth-username-password-form" in ids["org.keycloak.authentication.Authenticator"]
    policies = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"
    assert {"trusted-hosts", "max-clients", "client-disabled"} <= ids[policies]
    assert "length" in ids["org.keycloak.validate.Validator"]
    for listed in types.values():
        for each in listed:
            assert set(each) == {"id", "helpText", "properties", "metadata"}
            assert each["helpText"]


def test_every_rule_and_every_mapper_has_a_name_for_people() -> None:
    told = {rule["id"]: rule for rule in render_password_policies()}
    assert {rule.name for rule in POLICIES} <= told.keys()
    assert all(rule["displayName"] for rule in told.values())
    assert set(MAPPER_DESCRIPTIONS) == set(CLAIM_MAPPERS)
    assert all(mapper.name and mapper.help for mapper in MAPPER_DESCRIPTIONS.values())


def test_events_are_told_by_the_names_that_settings_take(administration: Administration) -> None:
    enums = info(administration)["enums"]
    assert enums["operationType"] == ["ACTION", "CREATE", "DELETE", "UPDATE"]
    assert len(enums["eventType"]) == 132
    assert {"LOGIN", "LOGIN_ERROR"} <= set(enums["eventType"])
    assert {"REALM", "COMPONENT"} <= set(enums["resourceType"])


def test_of_the_machine_only_administrators_of_master_hear(administration: Administration) -> None:
    of_master = info(administration)
    assert of_master["memoryInfo"]["total"] > of_master["memoryInfo"]["used"] > 0
    assert of_master["systemInfo"]["uptimeMillis"] >= 0
    of_realm = info(administration, "view-realm", "acme")
    assert not {"memoryInfo", "cpuInfo"} & set(of_realm)
    assert set(of_realm["systemInfo"]) == {"version", "product", "productVersion"}


def test_who_administers_any_realm_may_ask_and_nobody_else(administration: Administration) -> None:
    url = "/admin/serverinfo"
    assert ask(administration, url, administration.token("view-users"))[0] == 200
    for realm in ("master", "acme"):
        assert ask(administration, url, administration.token("nobody", realm))[0] == 403
    assert administration.http.get(url).status_code == 401


WHO = "/admin/{}/console/whoami"


CONSOLE = "security-admin-console"
VIEW_USERS = ["query-groups", "query-users", "view-users"]


@pytest.fixture(scope="module")
def console(administration: Administration) -> Iterator[Callable[[str], str]]:
    """Return what signs the users of these tests in at the admin console of a realm."""

    def sign_in(realm: str) -> str:
        form = {"grant_type": "password", "client_id": CONSOLE}
        sent = form | {"username": "operator", "password": PASSWORD}
        url = f"/realms/{realm}/protocol/openid-connect/token"
        answer = administration.http.post(url, data=sent)
        assert answer.status_code == httpx2.codes.OK, answer.text
        return str(answer.json()["access_token"])

    master = AdministeredRealm(administration, "master")
    operator = master.change("POST", "users", person("operator"))
    holder = client_in_sql(administration, "master", "acme-realm")
    role = master.get(f"clients/{holder}/roles/view-users")
    master.change("POST", f"users/{operator}/role-mappings/clients/{holder}", [role])
    console = client_in_sql(administration, "master", CONSOLE)
    master.change("PUT", f"clients/{console}", {"directAccessGrantsEnabled": True})
    user = person("operator", clientRoles={"realm-management": ["view-users"]})
    client = {"clientId": CONSOLE, "publicClient": True, "directAccessGrantsEnabled": True}
    document = {**SIGN_IN, "clients": [client], "users": [user]}
    with administered_realm(administration, "asking-who", {}, **document):
        yield sign_in
    master.change("PUT", f"clients/{console}", {"directAccessGrantsEnabled": False})
    master.change("DELETE", f"users/{operator}")


def test_an_administrator_of_master_hears_of_both_realms(
    administration: Administration, console: Callable[[str], str]
) -> None:
    path = f"{WHO.format('master')}?currentRealm=acme"
    status, found = ask(administration, path, console("master"))
    assert status == 200
    assert (found["realm"], found["displayName"]) == ("master", "operator")
    assert found["realm_access"] == {"master": [], "acme": VIEW_USERS}
    assert found["createRealm"] is False


def test_an_administrator_of_a_realm_hears_of_it_alone(
    administration: Administration, console: Callable[[str], str]
) -> None:
    token = console("asking-who")
    for current in ("asking-who", "master", "other", "none"):
        path = f"{WHO.format('asking-who')}?currentRealm={current}"
        status, found = ask(administration, path, token)
        assert (status, found["realm_access"]) == (200, {"asking-who": VIEW_USERS})
        assert found["createRealm"] is False


def test_who_has_a_token_of_another_client_hears_nothing(administration: Administration) -> None:
    """Keycloak 26.7: `whoami` is for the admin console."""
    text = "Token issued for an application that is not the admin console: root"
    assert ask(administration, WHO.format("master")) == (403, {"error": text})


@pytest.mark.parametrize(("realm", "status"), [("acme", 401), ("none", 404)])
def test_who_is_of_another_realm_hears_nothing(
    administration: Administration, realm: str, status: int
) -> None:
    assert ask(administration, f"{WHO.format(realm)}?currentRealm=acme")[0] == status
