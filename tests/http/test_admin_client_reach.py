"""Nobody becomes, by way of a client, a service account that may do more than they.

`lesser` may manage clients, `greater` may manage users too: whoever knows a secret of `greater`,
or sets what it proves itself by, would be `greater`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import SECRET, Administration

ADMINISTRATORS = {
    "lesser": ["manage-clients"],
    "watcher": ["view-clients"],
    "greater": ["manage-clients", "manage-users"],
    "equal": ["manage-clients"],
    "sleeper": ["manage-realm"],
}
GREATER = "clients/client-of-greater"
EXACT = {"x509.allow.regex.pattern.comparison": "false"}
FORBIDDEN = (403, {"error": "HTTP 403 Forbidden"})


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm, in which a device that has no secret may do more than `lesser` too."""
    device = {
        "id": "device-id",
        "clientId": "device",
        "clientAuthenticatorType": "client-x509",
        "attributes": {"x509.subjectdn": "CN=device", **EXACT},
        "serviceAccountsEnabled": True,
        "enabled": True,
    }
    account = {
        "username": "service-account-device",
        "serviceAccountClientId": "device",
        "clientRoles": {"realm-management": ["view-users"]},
    }
    with administered_realm(
        administration, "of-reach", ADMINISTRATORS, clients=[device], users=[account]
    ) as made:
        yield made


@pytest.fixture
def asleep(realm: AdministeredRealm, tmp_path: Path) -> str:
    """Switch a great service account off by a realm file, which leaves the user there."""
    client = {"clientId": "sleeper", "serviceAccountsEnabled": False}
    file = tmp_path / "realm.json"
    file.write_text(json.dumps({"realm": realm.name, "clients": [client]}))
    imported = realm.administration.command("realm", "import", str(file))
    assert imported.exit_code == 0, imported.output
    return "clients/client-of-sleeper"


@pytest.mark.parametrize(
    ("by", "secret"), [("lesser", "**********"), ("greater", SECRET), ("", SECRET)]
)
def test_a_secret_above_ones_rights_is_masked(
    realm: AdministeredRealm, by: str, secret: str
) -> None:
    assert realm.get(GREATER, by=by)["secret"] == secret
    (listed,) = realm.get("clients?clientId=greater", by=by)
    assert listed["secret"] == secret


def test_a_rotated_secret_above_ones_rights_is_masked_too(realm: AdministeredRealm) -> None:
    name = "client.secret.rotated"
    times = {f"{name}.creation.time": "1", f"{name}.expiration.time": "4102444800"}
    realm.change("PUT", GREATER, {"attributes": {name: "before", **times}})
    shown = {by: realm.get(GREATER, by=by)["attributes"][name] for by in ("lesser", "greater")}
    assert shown == {"lesser": "**********", "greater": "before"}
    rotated = f"{GREATER}/client-secret/rotated"
    for method in ("GET", "DELETE"):
        assert realm.refused(method, rotated, by="lesser") == FORBIDDEN
    assert realm.get(rotated, by="greater") == {"type": "secret", "value": "before"}
    realm.change("PUT", GREATER, realm.get(GREATER, by="lesser"), by="greater")
    assert realm.get(rotated, by="greater")["value"] == "before"
    realm.change("DELETE", rotated, by="greater")
    assert name not in realm.get(GREATER)["attributes"]


@pytest.mark.parametrize("by", ["lesser", "watcher", "greater"])
def test_a_secret_within_the_callers_rights_is_shown_to_viewers(
    realm: AdministeredRealm, by: str
) -> None:
    shown = {client["clientId"]: client.get("secret") for client in realm.get("clients", by=by)}
    within = by != "watcher"
    assert shown["equal"] == (SECRET if within else "**********")
    assert realm.get("clients/client-of-equal", by=by)["secret"] == shown["equal"]


@pytest.mark.parametrize(
    "change",
    [
        {"secret": "known"},
        {"clientAuthenticatorType": "client-secret-jwt"},
        {
            "clientAuthenticatorType": "client-x509",
            "attributes": {"x509.subjectdn": "CN=mine", **EXACT},
        },
        {"attributes": {"x509.subjectdn": "CN=mine"}},
        {"attributes": {"client.secret.rotated": "mine"}},
        {"attributes": {"client.secret.rotated.expiration.time": "4102444800"}},
        {"attributes": {"client.secret.expiration.time": "0"}},
        {"attributes": {"jwt.credential.certificate": "mine"}},
        {"attributes": {"jwks.url": "https://mine.test/jwks", "use.jwks.url": "true"}},
        {"attributes": {"JWKS.url": "https://mine.test/jwks"}},
        {"attributes": {"tls.client.certificate.bound.access.tokens": "true"}},
        {"publicClient": True},
        {"bearerOnly": True},
        {"serviceAccountsEnabled": False},
    ],
)
def test_what_a_greater_client_proves_itself_by_is_not_set(
    realm: AdministeredRealm, change: dict[str, Any]
) -> None:
    before = realm.get(GREATER)
    assert realm.refused("PUT", GREATER, change, by="lesser") == FORBIDDEN
    assert realm.get(GREATER) == before
    assert realm.administration.fresh_token("greater", realm.name)


@pytest.mark.parametrize(
    "change", [{"publicClient": True}, {"attributes": {"x509.subjectdn": "CN=mine"}}]
)
def test_a_greater_device_is_not_taken_over(
    realm: AdministeredRealm, change: dict[str, Any]
) -> None:
    before = realm.get("clients/device-id")
    assert realm.refused("PUT", "clients/device-id", change, by="lesser") == FORBIDDEN
    assert realm.get("clients/device-id") == before


@pytest.mark.parametrize(
    "change", [{"description": "by lesser"}, {"enabled": True}, {"clientId": "renamed"}, {}]
)
def test_nothing_else_of_a_client_with_more_rights_is_changed(
    realm: AdministeredRealm, change: dict[str, Any]
) -> None:
    realm.change("PUT", GREATER, {"enabled": False})
    try:
        before = realm.get(GREATER)
        assert realm.refused("PUT", GREATER, change, by="lesser") == FORBIDDEN
        assert realm.refused("DELETE", GREATER, by="lesser") == FORBIDDEN
        assert realm.get(GREATER) == before
    finally:
        realm.change("PUT", GREATER, {"enabled": True})


def test_an_equal_clients_secret_is_set(realm: AdministeredRealm) -> None:
    path = "clients/client-of-equal"
    realm.change("PUT", path, {"secret": "another"}, by="lesser")
    assert realm.get(path, by="lesser")["secret"] == "another"
    realm.change("PUT", path, {"secret": SECRET}, by="lesser")


@pytest.mark.parametrize("change", [{"serviceAccountsEnabled": True}, {"secret": "known"}])
def test_a_service_account_that_sleeps_is_not_woken(
    realm: AdministeredRealm, asleep: str, change: dict[str, Any]
) -> None:
    assert realm.get(asleep, by="lesser")["secret"] == "**********"
    assert realm.refused("PUT", asleep, change, by="lesser") == FORBIDDEN
    assert not realm.get(asleep)["serviceAccountsEnabled"]


def test_a_service_account_that_sleeps_is_not_shown(realm: AdministeredRealm, asleep: str) -> None:
    text = "Service account not enabled for the client 'sleeper'"
    refusal = (400, {"error": text})
    assert realm.refused("GET", f"{asleep}/service-account-user") == refusal
