"""The clients of a new realm are those that Keycloak makes, field by field. Keycloak: 8.6."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.admin.clients.defaults import default_clients, renamed_clients
from gateway.domain.clients.client import Client
from gateway.domain.realm import Realm
from gateway.representations.clients.client import parse_client, render_client

EXPECTED: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("built_in_clients.json").read_text()
)
REALM = Realm(id="kk1", name="acme corp~1")


def made(realm: Realm) -> dict[str, Client]:
    clients = (parse_client(document, realm.id) for document in default_clients(realm))
    return {client.client_id: client for client in clients}


def comparable(client: Client) -> dict[str, Any]:
    shown = {name: value for name, value in render_client(client).items() if name != "id"}
    for name in ("defaultClientScopes", "optionalClientScopes"):
        shown[name] = sorted(shown[name])
    for mapper in shown.get("protocolMappers", ()):
        del mapper["id"]
    return shown


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda client: str(client["clientId"]))
def test_a_new_realm_has_the_clients_that_keycloak_gives_it(expected: dict[str, Any]) -> None:
    assert comparable(made(REALM)[expected["clientId"]]) == expected


def test_a_new_realm_has_no_other_clients() -> None:
    assert sorted(made(REALM)) == [client["clientId"] for client in EXPECTED]
    assert "realm-management" not in made(Realm(id="m", name="master"))


def test_default_addresses_follow_the_realms_name_if_unchanged() -> None:
    new = Realm(id="kk1", name="new")
    clients = made(REALM)
    own = parse_client({"baseUrl": "/my/page"}, "kk1", base=clients["account-console"])
    others = {**clients, "account-console": own, "shop": parse_client({"clientId": "shop"}, "kk1")}
    changed = {
        client.client_id: render_client(client)
        for client in renamed_clients(others.values(), REALM, new)
    }
    assert sorted(changed) == ["account", "account-console", "security-admin-console"]
    assert changed["account"]["baseUrl"] == "/realms/new/account/"
    assert changed["account"]["redirectUris"] == ["/realms/new/account/*"]
    assert changed["account-console"]["baseUrl"] == "/my/page"
    assert changed["account-console"]["redirectUris"] == ["/realms/new/account/*"]
    assert changed["security-admin-console"]["baseUrl"] == "/admin/new/console/"
    assert changed["account"]["id"] == clients["account"].id
