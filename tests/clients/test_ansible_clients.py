"""Plays written for Keycloak's clients and their scopes do the same here."""

from tests.support.administered_server import AdministeredServer
from tests.support.ansible import WITH_CHECKS, Ansible, converged


def test_clients_of_every_kind_are_made_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("client", realm, checks=True)
    converged(runs, WITH_CHECKS)
    confidential = runs.of("second run", "confidential client")
    assert confidential["proposed"].keys() >= {"attributes", "protocolMappers", "redirectUris"}
    kept = confidential["end_state"]
    assert kept["description"] == "Made by a play"
    assert kept["attributes"]["access.token.lifespan"] == "120"
    assert sorted(kept["optionalClientScopes"]) == ["address", "phone"]
    assert {mapper["name"] for mapper in kept["protocolMappers"]} == {"audience", "department"}
    device = runs.of("second run", "client with a certificate")["end_state"]
    assert device["clientAuthenticatorType"] == "client-x509"
    assert device["attributes"]["x509.subjectdn"] == "CN=made-device,OU=Devices,O=Example"
    assert runs.of("second run", "public client")["end_state"]["publicClient"] is True
    assert runs.of("second run", "resource")["end_state"]["bearerOnly"] is True


def test_a_client_scope_is_made_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("clientscope", realm)
    converged(runs)
    kept = runs.of("first run")["end_state"]
    assert kept["attributes"]["consent.screen.text"] == "What is made"
    assert {mapper["name"] for mapper in kept["protocolMappers"]} == {"department", "groups"}


def test_which_scopes_are_default_and_which_optional_is_set_once(
    ansible: Ansible, own_realm: str
) -> None:
    runs = ansible.every_state("clientscope_type", own_realm)
    converged(runs)
    of_client = runs.of("second run", "scopes of a client")["existing"]
    assert sorted(of_client["default_clientscopes"]) == ["basic", "email"]
    assert of_client["optional_clientscopes"] == ["phone"]
    of_realm = runs.of("second run", "scopes of a realm")["existing"]
    assert sorted(of_realm["default_clientscopes"]) == ["basic", "phone", "roles"]


def test_roles_enter_the_scope_of_a_client_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("client_rolescope", realm)
    converged(runs)
    of_shop, of_realm = (answer["end_state"] for answer in runs.plays["first run"].values())
    assert sorted(role["name"] for role in of_shop) == ["buy", "sell"]
    assert [role["name"] for role in of_realm] == ["reader"]


def test_a_clients_secret_is_read_and_made_anew(
    ansible: Ansible, administered: AdministeredServer, own_realm: str
) -> None:
    answers = ansible.play("information", own_realm).plays["information"]
    before, after = (
        answers[name]["clientsecret_info"]["value"] for name in ("secret", "secret afterwards")
    )
    (client,) = administered.get(f"/{own_realm}/clients?clientId=service")
    assert before != after == client["secret"]
