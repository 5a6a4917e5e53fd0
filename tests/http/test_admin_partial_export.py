"""Exporting a realm without its users. Keycloak: 7.1 (partial-export)."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from gateway.admin.access.rights import AdminRole
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.made_realms import DONE, OK, make

WHOLE = "?exportClients=true&exportGroupsAndRoles=true"
MASK = "**********"


@pytest.fixture(scope="module")
def parts(administration: Administration) -> Iterator[str]:
    """Make a realm that has something of everything."""
    name = "exported-parts"
    roles = {"realm-management": ["manage-realm", "view-clients"]}
    account = {"username": "service-account-manager", "serviceAccountClientId": "manager"}
    make(
        administration,
        name,
        enabled=True,
        sslRequired="none",
        smtpServer={"host": "h", "from": "a@mail.test", "password": "mail-canary"},
        clients=[
            {"clientId": "manager", "secret": SECRET, "serviceAccountsEnabled": True},
            {"clientId": "nc", "secret": SECRET, "serviceAccountsEnabled": True},
        ],
        roles={"realm": [{"name": "nr"}], "client": {"nc": [{"name": "ncr"}]}},
        groups=[{"name": "ng", "realmRoles": ["nr"], "subGroups": [{"name": "below"}]}],
        users=[
            {**account, "clientRoles": roles},
            {"username": "nu", "credentials": [{"type": "password", "value": PASSWORD}]},
        ],
    )
    yield name
    assert administration.ask("DELETE", name).status_code == DONE


def client(realm: dict[str, Any], client_id: str) -> dict[str, Any]:
    (found,) = (one for one in realm["clients"] if one["clientId"] == client_id)
    assert isinstance(found, dict)
    return found


def give(
    administration: Administration, realm: str, query: str = "", token: str | None = None
) -> httpx2.Response:
    return administration.ask("POST", f"{realm}/partial-export{query}", token)


def test_an_export_has_no_secret_and_only_service_accounts(
    administration: Administration, parts: str
) -> None:
    whole = give(administration, parts, WHOLE)
    assert whole.status_code == OK
    for secret in (SECRET, "mail-canary", PASSWORD):
        assert secret not in whole.text
    document = whole.json()
    assert client(document, "nc")["secret"] == MASK
    assert document["users"][0]["clientRoles"]["realm-management"]
    assert document["keycloakVersion"].startswith("26.")
    assert document["roles"]["client"]["admin-cli"] == []
    assert [one["username"] for one in document["users"]] == [
        "service-account-manager",
        "service-account-nc",
    ]
    assert document["defaultRole"]["name"] == f"default-roles-{parts}"
    assert [group["name"] for group in document["groups"]] == ["ng"]
    assert document["roles"]["client"]["nc"][0]["name"] == "ncr"
    assert {"clientScopes", "scopeMappings", "identityProviders"} <= document.keys()
    again = {"ifResourceExists": "SKIP", **document}
    skipped = administration.ask("POST", f"{parts}/partialImport", document=again)
    assert skipped.json()["added"] == 0


def test_an_export_has_only_what_is_asked_for(administration: Administration, parts: str) -> None:
    plain = give(administration, parts).json()
    assert not {"clients", "users", "roles", "groups"} & plain.keys()
    clients = give(administration, parts, "?exportClients=true").json()
    assert {"clients", "users"} <= clients.keys()
    shown = {"credentials", "realmRoles", "clientRoles", "groups"}
    assert not any(shown & one.keys() for one in clients["users"])
    assert not {"roles", "groups"} & clients.keys()
    groups = give(administration, parts, "?exportGroupsAndRoles=true").json()
    assert {"roles", "groups"} <= groups.keys()
    assert not {"clients", "users"} & groups.keys()
    assert "client" not in json.dumps(groups["scopeMappings"]).replace("clientScope", "")


def test_an_export_takes_the_right_to_see_what_is_in_it(
    administration: Administration, parts: str
) -> None:
    token = administration.token("manager", parts)
    assert give(administration, parts, "", token).status_code == OK
    assert give(administration, parts, "?exportClients=true", token).status_code == OK
    assert give(administration, parts, "?exportGroupsAndRoles=true", token).status_code == 403
    manager = administration.token(AdminRole.MANAGE_REALM, "acme")
    assert give(administration, "acme", "", manager).status_code == OK
    assert give(administration, "acme", "?exportClients=true", manager).status_code == 403


def test_an_export_makes_another_realm(administration: Administration, parts: str) -> None:
    document = give(administration, parts, WHOLE).json()
    copy = {**document, "realm": "copied", "id": "copied"}
    made = administration.ask("POST", "", document=copy)
    assert made.status_code == 201, made.text
    try:
        again = give(administration, "copied", WHOLE).json()
        assert [one["clientId"] for one in again["clients"]] == [
            one["clientId"] for one in document["clients"]
        ]
        assert [one["name"] for one in again["clientScopes"]] == [
            one["name"] for one in document["clientScopes"]
        ]
        assert again["defaultRole"]["name"] == document["defaultRole"]["name"]
    finally:
        assert administration.ask("DELETE", "copied").status_code == DONE


def test_an_export_has_the_flows_and_actions_of_a_new_realm(
    administration: Administration, parts: str
) -> None:
    exported = give(administration, parts).json()
    flows = {flow["alias"]: flow for flow in exported["authenticationFlows"]}
    assert {"browser", "direct grant", "forms", "clients", "registration form"} <= set(flows)
    nested = {
        step["flowAlias"]
        for flow in flows.values()
        for step in flow["authenticationExecutions"]
        if step.get("flowAlias")
    }
    assert nested <= set(flows)
    configured = {
        step["authenticatorConfig"]
        for flow in flows.values()
        for step in flow["authenticationExecutions"]
        if step.get("authenticatorConfig")
    }
    assert configured == {config["alias"] for config in exported["authenticatorConfig"]}
    shown = administration.ask("GET", f"{parts}/authentication/required-actions").json()
    assert exported["requiredActions"] == shown
    assert exported["localizationTexts"] == {}


def by_id(components: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return {kind: sorted(each, key=lambda one: str(one["id"])) for kind, each in components.items()}


def test_an_export_has_components_without_key_material(
    administration: Administration, parts: str
) -> None:
    exported = give(administration, parts).json()["components"]
    listed = administration.ask("GET", f"{parts}/components").json()
    by_type: dict[str, list[dict[str, Any]]] = {}
    for component in listed:
        kind = component.pop("providerType")
        del component["parentId"]
        by_type.setdefault(kind, []).append({**component, "subComponents": {}})
    assert by_id(exported) == by_id(by_type)
    keys = exported["org.keycloak.keys.KeyProvider"]
    assert {"ecdsa-generated", "rsa-enc-generated", "aes-generated", "hmac-generated"} == {
        key["providerId"] for key in keys
    }
    assert not {"privateKey", "secret"} & {name for key in keys for name in key["config"]}


def test_an_export_has_the_realms_own_flows_actions_and_texts(
    administration: Administration,
) -> None:
    names = ("authenticationFlows", "requiredActions", "localizationTexts")
    name = "exported-flows"
    flow = {"alias": "by page", "topLevel": True, "description": "Own"}
    action = {"alias": "UPDATE_PASSWORD", "name": "Another one", "enabled": True}
    make(
        administration,
        name,
        authenticationFlows=[flow],
        requiredActions=[action],
        localizationTexts={"de": {"hello": "Hallo"}},
    )
    exported = give(administration, name).json()
    assert administration.ask("DELETE", name).status_code == DONE
    flows, actions, texts = (exported[part] for part in names)
    assert flow.items() <= next(each for each in flows if each["alias"] == "by page").items()
    assert "Another one" in [each["name"] for each in actions]
    assert texts == {"de": {"hello": "Hallo"}}


def test_roles_are_exported_by_client_if_clients_are(
    administration: Administration, parts: str
) -> None:
    whole = give(administration, parts, WHOLE).json()
    assert whole["roles"]["client"]["nc"][0]["name"] == "ncr"
    assert whole["roles"]["client"]["admin-cli"] == []
    groups = give(administration, parts, "?exportGroupsAndRoles=true").json()
    assert groups["roles"].keys() == {"realm"}
    assert "clientScopeMappings" not in groups
    assert "defaultGroups" not in groups


def test_a_service_account_is_exported_without_credentials(
    administration: Administration, parts: str
) -> None:
    users = give(administration, parts, "?exportClients=true").json()["users"]
    (account,) = (user for user in users if user["username"] == "service-account-nc")
    assert not {"credentials", "clientRoles"} & account.keys()
    assert (account["totp"], account["disableableCredentialTypes"]) == (False, [])
    assert account["serviceAccountClientId"] == "nc"
