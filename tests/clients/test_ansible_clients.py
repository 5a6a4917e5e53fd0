"""Plays written for Keycloak's clients and their scopes do the same here."""

from collections.abc import Iterator, Mapping

import pytest

from tests.support.administered_server import PREPARED, AdministeredServer
from tests.support.ansible import WITH_CHECKS, Ansible, Playbook, Runs, converged, every_state

_OWN_REALM = "ansible-scopes"


@pytest.fixture(scope="module")
def runs(
    ansible: Ansible, administered: AdministeredServer, realm: str
) -> Iterator[Mapping[str, Runs]]:
    """Run all of them at once: a start of Ansible costs as much as ten tasks."""
    with administered.realm(_OWN_REALM, PREPARED) as own_realm:
        yield ansible.play(
            every_state("client", realm, checks=True),
            every_state("clientscope", realm),
            every_state("client_rolescope", realm),
            every_state("clientscope_type", own_realm),
            Playbook("information", own_realm),
        )


def test_clients_of_every_kind_are_made_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["client"], WITH_CHECKS)
    confidential = runs["client"].of("second run", "confidential client")
    assert confidential["proposed"].keys() >= {"attributes", "protocolMappers", "redirectUris"}
    kept = confidential["end_state"]
    assert kept["description"] == "Made by a play"
    assert kept["attributes"]["access.token.lifespan"] == "120"
    assert sorted(kept["optionalClientScopes"]) == ["address", "phone"]
    assert {mapper["name"] for mapper in kept["protocolMappers"]} == {"audience", "department"}
    device = runs["client"].of("second run", "client with a certificate")["end_state"]
    assert device["clientAuthenticatorType"] == "client-x509"
    assert device["attributes"]["x509.subjectdn"] == "CN=made-device,OU=Devices,O=Example"
    assert runs["client"].of("second run", "public client")["end_state"]["publicClient"] is True
    assert runs["client"].of("second run", "resource")["end_state"]["bearerOnly"] is True


def test_a_client_scope_is_made_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["clientscope"])
    kept = runs["clientscope"].of("first run")["end_state"]
    assert kept["attributes"]["consent.screen.text"] == "What is made"
    assert {mapper["name"] for mapper in kept["protocolMappers"]} == {"department", "groups"}


def test_which_scopes_are_default_and_which_optional_is_set_once(
    runs: Mapping[str, Runs],
) -> None:
    converged(runs["clientscope_type"])
    of_client = runs["clientscope_type"].of("second run", "scopes of a client")["existing"]
    assert sorted(of_client["default_clientscopes"]) == ["basic", "email"]
    assert of_client["optional_clientscopes"] == ["phone"]
    of_realm = runs["clientscope_type"].of("second run", "scopes of a realm")["existing"]
    assert sorted(of_realm["default_clientscopes"]) == ["basic", "phone", "roles"]


def test_roles_enter_the_scope_of_a_client_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["client_rolescope"])
    of_shop, of_realm = (
        answer["end_state"] for answer in runs["client_rolescope"].plays["first run"].values()
    )
    assert sorted(role["name"] for role in of_shop) == ["buy", "sell"]
    assert [role["name"] for role in of_realm] == ["reader"]


def test_a_clients_secret_is_read_and_made_anew(
    administered: AdministeredServer, runs: Mapping[str, Runs]
) -> None:
    answers = runs["information"].plays["information"]
    before, after = (
        answers[name]["clientsecret_info"]["value"] for name in ("secret", "secret afterwards")
    )
    (client,) = administered.get(f"/{_OWN_REALM}/clients?clientId=service")
    assert before != after == client["secret"]
