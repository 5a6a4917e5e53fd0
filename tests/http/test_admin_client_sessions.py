"""Sessions and nodes of clients over the admin API. Keycloak: 7.3."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import PASSWORD, Administration

ADMINISTRATORS = {"viewer": ["view-clients"], "manager": ["manage-clients"]}
APP = "clients/app-id"
POLICY = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)"
FORBIDDEN = (403, {"error": "HTTP 403 Forbidden"})


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with a user who may sign in to an app."""
    fields = {"publicClient": True, "directAccessGrantsEnabled": True, "enabled": True}
    clients = [{"id": f"{name}-id", "clientId": name, **fields} for name in ("app", "other")]
    anna = {
        "id": "anna-id",
        "username": "anna",
        "enabled": True,
        "credentials": [{"type": "password", "value": PASSWORD}],
    }
    with administered_realm(
        administration,
        "of-client-sessions",
        ADMINISTRATORS,
        clients=clients,
        users=[anna],
        passwordPolicy=POLICY,
        attributes={"userProfileEnabled": "false"},
    ) as made:
        yield made


def sign_in(realm: AdministeredRealm, scope: str = "openid", client_id: str = "app") -> Any:
    form = {"grant_type": "password", "client_id": client_id, "scope": scope}
    response = realm.administration.http.post(
        f"/realms/{realm.name}/protocol/openid-connect/token",
        data=form | {"username": "anna", "password": PASSWORD},
    )
    assert response.status_code == 200, response.text
    return response.json()


def refresh(realm: AdministeredRealm, tokens: Any, client_id: str = "app") -> int:
    form = {"grant_type": "refresh_token", "client_id": client_id}
    url = f"/realms/{realm.name}/protocol/openid-connect/token"
    sent = form | {"refresh_token": tokens["refresh_token"]}
    return realm.administration.http.post(url, data=sent).status_code


def left_alone(realm: AdministeredRealm) -> int:
    """Return how many offline sessions there are in which no client takes part."""
    database = realm.administration.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(database)) as connection:
        (number,) = connection.execute(
            "SELECT count(*) FROM offline_sessions"
            " WHERE id NOT IN (SELECT session_id FROM offline_client_sessions)"
        ).fetchone()
    return int(number)


@pytest.mark.parametrize(
    ("scope", "listed", "counted"),
    [
        ("openid", "user-sessions", "session-count"),
        ("openid offline_access", "offline-sessions", "offline-session-count"),
    ],
)
def test_sessions_of_each_kind_are_counted_and_shown(
    realm: AdministeredRealm, scope: str, listed: str, counted: str
) -> None:
    before = realm.get(f"{APP}/{counted}", by="viewer")["count"]
    sign_in(realm, scope)
    sign_in(realm, scope)
    sign_in(realm, scope, "other")
    assert realm.get(f"{APP}/{counted}", by="viewer") == {"count": before + 2}
    sessions = realm.get(f"{APP}/{listed}", by="viewer")
    assert len(sessions) == before + 2
    newest = sessions[-1]
    assert newest.pop("id")
    assert newest.pop("start") == newest.pop("lastAccess")
    assert list(newest.items()) == [
        ("username", "anna"),
        ("userId", "anna-id"),
        ("ipAddress", "203.0.113.9"),
        ("rememberMe", False),
        ("clients", {"app-id": "app"}),
        ("transientUser", False),
    ]
    ids = [session["id"] for session in realm.get(f"{APP}/{listed}")]
    for page, expected in (
        ("first=1&max=1", ids[1:2]),
        ("max=0", []),
        ("max=-1", ids),
        ("first=-1&max=1", ids[:1]),
        ("first=99", []),
    ):
        assert [one["id"] for one in realm.get(f"{APP}/{listed}?{page}")] == expected


@pytest.mark.parametrize("path", ["user-sessions?max=x", "offline-sessions?first=1.5"])
def test_a_page_that_is_no_number_does_not_exist(realm: AdministeredRealm, path: str) -> None:
    assert realm.refused("GET", f"{APP}/{path}") == (404, {"error": "HTTP 404 Not Found"})


def test_with_a_client_go_its_sessions(realm: AdministeredRealm) -> None:
    client = {"clientId": "leaving", "publicClient": True, "directAccessGrantsEnabled": True}
    made = realm.change("POST", "clients", client)
    tokens = [sign_in(realm, scope, "leaving") for scope in ("openid", "openid offline_access")]
    assert [refresh(realm, one, "leaving") for one in tokens] == [200, 200]
    realm.change("DELETE", f"clients/{made}")
    realm.change("POST", "clients", {**client, "id": made})
    assert realm.get(f"clients/{made}/session-count") == {"count": 0}
    assert realm.get(f"clients/{made}/offline-session-count") == {"count": 0}
    assert [refresh(realm, one, "leaving") for one in tokens] == [400, 400]
    assert left_alone(realm) == 0


def test_nodes_are_noted_and_forgotten(realm: AdministeredRealm) -> None:
    assert realm.ask("POST", f"{APP}/nodes", {"node": "n 1"}, by="manager").status_code == 204
    assert realm.ask("POST", f"{APP}/nodes", {"node": "n2"}).status_code == 204
    nodes = realm.get(APP)["registeredNodes"]
    assert sorted(nodes) == ["n 1", "n2"]
    assert all(isinstance(registered, int) for registered in nodes.values())
    assert realm.ask("DELETE", f"{APP}/nodes/n%201").status_code == 204
    missing = (404, {"error": "Client does not have node "})
    assert realm.refused("DELETE", f"{APP}/nodes/n%201") == missing
    realm.change("DELETE", f"{APP}/nodes/n2")
    assert "registeredNodes" not in realm.get(APP)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({}, "Node not found in params"),
        ({"node": ""}, "Node not found in params"),
        ({"node": 5}, "Node not found in params"),
        ({"node": "a b/c"}, "Character '/' not allowed."),
        ({"node": "a:b"}, "Character ':' not allowed."),
        ({"node": "x" * 256}, "A node has a name of 1 to 255 printable characters"),
        ({"node": "a\nb"}, "A node has a name of 1 to 255 printable characters"),
    ],
)
def test_what_is_no_node_is_refused(
    realm: AdministeredRealm, document: dict[str, Any], text: str
) -> None:
    assert realm.refused("POST", f"{APP}/nodes", document) == (400, {"error": text})
    assert "registeredNodes" not in realm.get(APP)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "push-revocation"), ("GET", "test-nodes-available")]
)
def test_nobody_is_told_anything_and_who_was_not_is_named(
    realm: AdministeredRealm, method: str, path: str
) -> None:
    response = realm.ask(method, f"{APP}/{path}", by="manager")
    assert (response.status_code, response.json()) == (200, {})
    realm.change("PUT", APP, {"adminUrl": "https://app.test/told"})
    told = realm.ask(method, f"{APP}/{path}").json()
    assert told == {"failedRequests": ["https://app.test/told"]}
    realm.change("PUT", APP, {"adminUrl": ""})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "nodes"),
        ("DELETE", "nodes/n"),
        ("POST", "push-revocation"),
        ("GET", "test-nodes-available"),
    ],
)
def test_only_managers_tell_clients_things(
    realm: AdministeredRealm, method: str, path: str
) -> None:
    document = {"node": "n"} if path == "nodes" else None
    assert realm.refused(method, f"{APP}/{path}", document, by="viewer") == FORBIDDEN
    (holder,) = realm.get("clients?clientId=realm-management")
    assert realm.refused(method, f"clients/{holder['id']}/{path}", document) == FORBIDDEN


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "session-count"),
        ("GET", "offline-session-count"),
        ("GET", "user-sessions"),
        ("GET", "offline-sessions"),
        ("POST", "nodes"),
        ("DELETE", "nodes/n"),
        ("POST", "push-revocation"),
        ("GET", "test-nodes-available"),
    ],
)
def test_a_client_that_is_not_there_has_no_sessions(
    realm: AdministeredRealm, method: str, path: str
) -> None:
    document = {"node": "n"} if path == "nodes" else None
    missing = (404, {"error": "Could not find client"})
    (theirs,) = realm.administration.ask("GET", "acme/clients?clientId=nobody").json()
    for client in ("nobody", theirs["id"]):
        assert realm.refused(method, f"clients/{client}/{path}", document) == missing


def test_what_clients_would_be_told_is_recorded(realm: AdministeredRealm) -> None:
    seen = len(realm.events())
    realm.change("POST", f"{APP}/nodes", {"node": "n"})
    realm.change("DELETE", f"{APP}/nodes/n")
    realm.change("POST", f"{APP}/push-revocation")
    realm.get(f"{APP}/test-nodes-available")
    assert realm.events()[seen:] == [
        ("CREATE", "CLUSTER_NODE", f"{APP}/nodes/n", None),
        ("DELETE", "CLUSTER_NODE", f"{APP}/nodes/n", None),
        ("ACTION", "CLIENT", f"{APP}/push-revocation", None),
        ("ACTION", "CLUSTER_NODE", f"{APP}/test-nodes-available", {}),
    ]
