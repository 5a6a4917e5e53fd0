"""Sessions of users, and what is left out of users, over the admin API. Keycloak: 7.2 (26.7)."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administration import PASSWORD, Administration
from tests.support.own_realm import OwnRealm, own_realm
from tests.support.recorded_changes import recorded_changes
from tests.support.tokens import claims_of

BOB = {
    "username": "bob",
    "enabled": True,
    "credentials": [{"type": "password", "value": PASSWORD}],
}


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    folder = tmp_path_factory.mktemp("visits")
    return own_realm(administration, folder, "visits", adminEventsEnabled=True)


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and take away whom a test has added to it."""
    yield shared
    for user in shared.get("users"):
        shared.done("DELETE", f"users/{user['id']}")


@pytest.fixture
def bob(realm: OwnRealm) -> str:
    """Return the path of a user."""
    return f"users/{realm.created('users', BOB)}"


def internal_id(realm: OwnRealm, client_id: str) -> str:
    (client,) = [client for client in realm.get("clients") if client["clientId"] == client_id]
    return str(client["id"])


def refreshes(realm: OwnRealm, tokens: dict[str, Any]) -> bool:
    url = f"/realms/{realm.name}/protocol/openid-connect/token"
    form = {
        "grant_type": "refresh_token",
        "client_id": "admin-cli",
        "refresh_token": tokens["refresh_token"],
    }
    return realm.administration.http.post(url, data=form).status_code == 200


def test_sessions_are_shown_in_keycloaks_shape(realm: OwnRealm, bob: str) -> None:
    assert realm.get(f"{bob}/sessions") == []
    for _ in range(2):
        assert realm.sign_in("bob").status_code == 200
    first, second = realm.get(f"{bob}/sessions")
    assert first["id"] != second["id"]
    assert list(first) == [
        *("id", "username", "userId", "ipAddress", "start", "lastAccess"),
        *("rememberMe", "clients", "transientUser"),
    ]
    assert first["userId"] == bob.removeprefix("users/")
    assert (first["username"], first["ipAddress"]) == ("bob", "203.0.113.9")
    assert first["clients"] == {internal_id(realm, "admin-cli"): "admin-cli"}
    assert first["start"] % 1000 == 0 == first["lastAccess"] % 1000
    assert (first["rememberMe"], first["transientUser"]) == (False, False)


def test_offline_sessions_are_those_of_one_client(realm: OwnRealm, bob: str) -> None:
    assert realm.sign_in("bob", scope="offline_access").status_code == 200
    assert realm.get(f"{bob}/sessions") == []
    client = internal_id(realm, "admin-cli")
    (session,) = realm.get(f"{bob}/offline-sessions/{client}")
    assert session["clients"] == {client: "admin-cli"}
    account = internal_id(realm, "account")
    assert realm.get(f"{bob}/offline-sessions/{account}") == []


def test_a_logout_ends_all_sessions_and_rejects_earlier_tokens(realm: OwnRealm, bob: str) -> None:
    """Keycloak rejects the tokens of offline sessions too, and keeps the sessions."""
    offline = realm.sign_in("bob", scope="offline_access").json()
    online = realm.sign_in("bob").json()
    done = realm.ask("POST", f"{bob}/logout")
    assert (done.status_code, done.content) == (204, b"")
    assert realm.get(bob)["notBefore"] >= claims_of(online["access_token"])["iat"]
    assert realm.get(f"{bob}/sessions") == []
    assert realm.get(f"{bob}/offline-sessions/{internal_id(realm, 'admin-cli')}") == []
    assert not refreshes(realm, online)
    assert not refreshes(realm, offline)


def test_a_logout_leaves_others_signed_in(realm: OwnRealm, bob: str) -> None:
    realm.created("users", {**BOB, "username": "ann"})
    ann = realm.sign_in("ann").json()
    realm.sign_in("bob")
    realm.done("POST", f"{bob}/logout")
    assert refreshes(realm, ann)


def test_a_logout_is_recorded(realm: OwnRealm, bob: str, administration: Administration) -> None:
    realm.done("POST", f"{bob}/logout", {})
    assert recorded_changes(administration, realm.name)[-1] == (
        *("ACTION", "USER", f"{bob}/logout"),
        None,
    )


def test_who_or_what_does_not_exist_is_told(realm: OwnRealm, bob: str) -> None:
    for verb, path, told in (
        ("GET", "users/nobody/sessions", "User not found"),
        ("GET", "users/nobody/offline-sessions/x", "User not found"),
        ("POST", "users/nobody/logout", "User not found"),
        ("GET", "users/nobody/federated-identity", "User not found"),
        ("GET", "users/nobody/unmanagedAttributes", "User not found"),
        ("GET", f"{bob}/offline-sessions/x", "Client not found"),
    ):
        answer = realm.ask(verb, path)
        assert (answer.status_code, answer.json()) == (404, {"error": told})


def test_offline_tokens_of_a_client_are_a_revocable_consent(
    realm: OwnRealm, bob: str, administration: Administration
) -> None:
    assert realm.get(f"{bob}/consents") == []
    offline = realm.sign_in("bob", scope="offline_access").json()
    online = realm.sign_in("bob").json()
    assert realm.get(f"{bob}/consents") == [
        {
            "clientId": "admin-cli",
            "grantedClientScopes": [],
            "additionalGrants": [
                {"client": internal_id(realm, "admin-cli"), "key": "Offline Token"}
            ],
        }
    ]
    realm.done("DELETE", f"{bob}/consents/admin-cli")
    assert recorded_changes(administration, realm.name)[-1][:3] == (
        *("ACTION", "USER", f"{bob}/consents/admin-cli"),
    )
    assert not refreshes(realm, offline)
    assert refreshes(realm, online)
    assert realm.get(f"{bob}/consents") == []


def test_a_consent_that_is_not_there_cannot_be_revoked(realm: OwnRealm, bob: str) -> None:
    for path, text in (
        (f"{bob}/consents/admin-cli", "Consent nor offline token not found"),
        (f"{bob}/consents/no-client", "Client not found"),
        ("users/nobody/consents/admin-cli", "User not found"),
    ):
        answer = realm.ask("DELETE", path)
        assert (answer.status_code, answer.json()) == (404, {"error": text})


def test_a_user_has_no_identity_at_a_provider(realm: OwnRealm, bob: str) -> None:
    assert realm.get(f"{bob}/federated-identity") == []


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("POST", "federated-identity/google"),
        ("DELETE", "federated-identity/google"),
    ],
)
def test_what_is_left_out_says_so_in_a_sentence(
    realm: OwnRealm, bob: str, verb: str, path: str
) -> None:
    answer = realm.ask(verb, f"{bob}/{path}")
    assert (answer.status_code, answer.json()["error"]) == (501, "Feature not enabled")
    assert len(answer.json()["error_description"].split()) > 3


def test_a_viewer_sees_sessions_and_ends_none(administration: Administration) -> None:
    viewer = administration.token("view-users", "acme")
    path = "acme/users/id-of-bob"
    assert administration.ask("GET", f"{path}/sessions", viewer).json() == []
    assert administration.ask("GET", f"{path}/federated-identity", viewer).json() == []
    assert administration.ask("POST", f"{path}/logout", viewer).status_code == 403
    seeker = administration.token("query-users", "acme")
    for rest in ("sessions", "offline-sessions/x", "federated-identity", "unmanagedAttributes"):
        assert administration.ask("GET", f"{path}/{rest}", seeker).status_code == 403
    outsider = administration.token("view-clients", "acme")
    assert administration.ask("GET", f"{path}/sessions", outsider).status_code == 403
