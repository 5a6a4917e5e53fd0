"""Secrets and service accounts of clients over the admin API. Keycloak: 7.3."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import SECRET, Administration

ADMINISTRATORS = {
    "viewer": ["view-clients"],
    "manager": ["manage-clients"],
    "greater": ["manage-clients", "manage-users"],
    "seeker": ["query-clients"],
}
CLIENTS = (
    {"clientId": "plain", "serviceAccountsEnabled": True},
    {"clientId": "public", "publicClient": True},
    {"clientId": "idle"},
)
PLAIN = "clients/plain-id"
FORBIDDEN = (403, {"error": "HTTP 403 Forbidden"})


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with some clients, whose ids are their names with -id."""
    clients = [{"id": f"{client['clientId']}-id", "enabled": True, **client} for client in CLIENTS]
    with administered_realm(administration, "of-secrets", ADMINISTRATORS, clients=clients) as made:
        yield made


def token(realm: AdministeredRealm, secret: str) -> int:
    form = {"grant_type": "client_credentials", "client_id": "plain", "client_secret": secret}
    url = f"/realms/{realm.name}/protocol/openid-connect/token"
    return realm.administration.http.post(url, data=form).status_code


def test_a_secret_is_told_to_whoever_may_view_clients(realm: AdministeredRealm) -> None:
    secret = realm.get(PLAIN)["secret"]
    for by in ("", "viewer", "manager"):
        told = realm.get(f"{PLAIN}/client-secret", by=by)
        assert list(told.items()) == [("type", "secret"), ("value", secret)]
    assert realm.refused("GET", f"{PLAIN}/client-secret", by="seeker") == FORBIDDEN


def test_a_public_client_has_no_secret_to_tell(realm: AdministeredRealm) -> None:
    assert realm.get("clients/public-id/client-secret") == {"type": "secret"}


def test_a_public_clients_new_secret_shows_once_confidential(
    realm: AdministeredRealm,
) -> None:
    path = "clients/public-id"
    made = realm.ask("POST", f"{path}/client-secret").json()["value"]
    assert "secret" not in realm.get(path)
    realm.change("PUT", path, {"publicClient": False})
    assert realm.get(path)["secret"] == made
    realm.change("PUT", path, {"publicClient": True})


@pytest.mark.parametrize("document", [None, {}, {"realm": "r", "client": "c"}])
def test_a_new_secret_is_the_only_one_from_then_on(
    realm: AdministeredRealm, document: object
) -> None:
    before = realm.get(PLAIN)
    assert token(realm, before["secret"]) == 200
    response = realm.ask("POST", f"{PLAIN}/client-secret", document, by="manager")
    assert response.status_code == 200
    renewed = response.json()
    assert list(renewed) == ["type", "value"]
    assert len(renewed["value"]) >= 32
    assert renewed["value"] != before["secret"]
    assert token(realm, before["secret"]) == 401
    assert token(realm, renewed["value"]) == 200
    after = realm.get(PLAIN)
    assert after["secret"] == renewed["value"]
    created = "client.secret.creation.time"
    assert int(after["attributes"].pop(created)) >= int(before["attributes"].pop(created))
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"secret"}


def test_of_many_secrets_made_at_once_the_last_one_counts(realm: AdministeredRealm) -> None:
    def renew(_: int) -> str:
        return str(realm.ask("POST", f"{PLAIN}/client-secret").json()["value"])

    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(renew, range(4)))
    assert len(made) == 4
    working = [secret for secret in made if token(realm, secret) == 200]
    assert working == [realm.get(PLAIN)["secret"]]


def test_there_is_no_secret_before_this_one(realm: AdministeredRealm) -> None:
    rotated = f"{PLAIN}/client-secret/rotated"
    missing = (404, {"error": "Client does not have a rotated secret"})
    assert realm.refused("GET", rotated) == missing
    assert realm.ask("DELETE", rotated).status_code == 204
    assert realm.refused("DELETE", rotated, by="viewer") == FORBIDDEN


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_secret_of_who_may_do_more_is_neither_told_nor_made(
    realm: AdministeredRealm, method: str
) -> None:
    path = "clients/client-of-greater/client-secret"
    assert realm.refused(method, path, by="manager") == FORBIDDEN
    assert realm.get(path, by="greater")["value"] == SECRET
    assert realm.administration.fresh_token("greater", realm.name)


def test_the_client_of_administrative_roles_gets_no_secret(realm: AdministeredRealm) -> None:
    (client,) = realm.get("clients?clientId=realm-management")
    path = f"clients/{client['id']}/client-secret"
    assert realm.refused("POST", path) == FORBIDDEN
    assert realm.refused("DELETE", f"{path}/rotated") == FORBIDDEN
    assert realm.get(path) == {"type": "secret"}


def test_only_managers_make_secrets(realm: AdministeredRealm) -> None:
    before = realm.get(PLAIN)
    assert realm.refused("POST", f"{PLAIN}/client-secret", by="viewer") == FORBIDDEN
    assert realm.get(PLAIN) == before


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "client-secret"),
        ("POST", "client-secret"),
        ("GET", "client-secret/rotated"),
        ("DELETE", "client-secret/rotated"),
        ("GET", "service-account-user"),
    ],
)
@pytest.mark.parametrize("client", ["nobody", "theirs"])
def test_a_client_that_is_not_there_has_no_secret(
    realm: AdministeredRealm, method: str, path: str, client: str
) -> None:
    if client == "theirs":
        (theirs,) = realm.administration.ask("GET", "acme/clients?clientId=nobody").json()
        client = theirs["id"]
    missing = (404, {"error": "Could not find client"})
    assert realm.refused(method, f"clients/{client}/{path}") == missing


def test_a_service_account_is_shown_as_a_user(realm: AdministeredRealm) -> None:
    account = realm.get(f"{PLAIN}/service-account-user", by="viewer")
    assert account.pop("id")
    assert account.pop("createdTimestamp") > 0
    assert list(account.items()) == [
        ("username", "service-account-plain"),
        ("emailVerified", False),
        ("enabled", True),
        ("totp", False),
        ("disableableCredentialTypes", []),
        ("requiredActions", []),
        ("notBefore", 0),
    ]


def test_a_client_without_service_account_says_so(realm: AdministeredRealm) -> None:
    refusal = (400, {"error": "Service account not enabled for the client 'idle'"})
    assert realm.refused("GET", "clients/idle-id/service-account-user") == refusal


def test_secrets_are_recorded_without_their_value(realm: AdministeredRealm) -> None:
    seen = len(realm.events())
    realm.change("POST", f"{PLAIN}/client-secret")
    realm.change("DELETE", f"{PLAIN}/client-secret/rotated")
    told = {"type": "secret", "value": "**********"}
    assert realm.events()[seen:] == [
        ("ACTION", "CLIENT", f"{PLAIN}/client-secret", told),
        ("DELETE", "CLIENT", f"{PLAIN}/client-secret/rotated", None),
    ]


def test_nobody_keeps_a_secret_on_the_way(realm: AdministeredRealm) -> None:
    for method in ("GET", "POST"):
        response: httpx2.Response = realm.ask(method, f"{PLAIN}/client-secret")
        assert response.headers["cache-control"] == "no-store"
