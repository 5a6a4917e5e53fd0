"""The client scopes of a new realm, compared with those of a fresh realm of Keycloak 26.7."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gateway.admin.client_scope_defaults import default_client_scopes
from gateway.domain.client_scopes import RealmDefault
from gateway.representations.client_scopes import render_client_scope

FACTS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("built_in_client_scopes.json").read_bytes()
)
SCOPES = {scope.name: scope for scope in default_client_scopes("demo-id")}


def test_there_are_the_fifteen_of_keycloak() -> None:
    assert SCOPES.keys() == FACTS.keys()


@pytest.mark.parametrize("name", FACTS)
def test_each_is_as_keycloak_makes_it(name: str) -> None:
    written = render_client_scope(SCOPES[name])
    mappers = written.pop("protocolMappers", [])
    found = {key: value for key, value in written.items() if key not in {"id", "name"}}
    assert found == {key: value for key, value in FACTS[name].items() if key != "protocolMappers"}
    assert {item["name"]: [item["protocolMapper"], item["config"]] for item in mappers} == (
        FACTS[name]["protocolMappers"]
    )
    assert {item["protocol"] for item in mappers} <= {written["protocol"]}


def test_new_clients_get_those_that_keycloak_lists() -> None:
    def listed(realm_default: RealmDefault) -> set[str]:
        return {name for name, scope in SCOPES.items() if scope.realm_default is realm_default}

    assert listed(RealmDefault.DEFAULT) == {
        *("role_list", "saml_organization", "AuthnContextClassRef"),
        *("profile", "email", "roles", "web-origins", "acr", "basic"),
    }
    assert listed(RealmDefault.OPTIONAL) == {
        *("offline_access", "address", "phone", "microprofile-jwt", "organization"),
    }


def test_every_realm_has_ids_of_its_own() -> None:
    others = default_client_scopes("other-id")
    ids = [scope.id for scope in (*SCOPES.values(), *others)]
    ids += [mapper.id for scope in (*SCOPES.values(), *others) for mapper in scope.mappers]
    assert len(set(ids)) == len(ids)
    assert all(UUID(identity).version == 4 for identity in ids)
    assert {scope.realm_id for scope in others} == {"other-id"}
