"""Secrets of clients that expire and rotate, through the real nginx. Keycloak: 26.7.3."""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from tests.support.chosen_realm import ChosenRealm, chosen_realm
from tests.support.spec_stack import Stack, refusal
from tests.support.wire import SECRET, client

CREATED, EXPIRES = "client.secret.creation.time", "client.secret.expiration.time"
ROTATED = "client.secret.rotated"
ROTATED_CREATED, ROTATED_EXPIRES = f"{ROTATED}.creation.time", f"{ROTATED}.expiration.time"
OLD = "the-secret-before"
WRONG = (401, "unauthorized_client", "Invalid client or Invalid client credentials")
NO_ROTATED = {"error": "Client does not have a rotated secret"}
PERIODS = {
    "expiration-period": 1000,
    "rotated-expiration-period": 500,
    "remaining-rotation-period": 100,
}
MASK = "**********"


def _in(seconds: int) -> str:
    return str(int(time.time()) + seconds)


ROTATING = {ROTATED: OLD, ROTATED_CREATED: _in(-5), ROTATED_EXPIRES: _in(50_000)}
EVENTS = {"adminEventsEnabled": True, "adminEventsDetailsEnabled": True}
CLIENTS = [
    client("imported", attributes=ROTATING),
    client("expired", attributes={EXPIRES: _in(-5)}),
    client("plain"),
    client("public", publicClient=True),
]


@pytest.fixture(scope="module")
def realm(spec: Stack) -> Iterator[ChosenRealm]:
    """Make a realm without client policies."""
    with chosen_realm(spec, "expirations", CLIENTS, **EVENTS) as made:
        yield made


@pytest.fixture(scope="module")
def governed(spec: Stack) -> Iterator[ChosenRealm]:
    """Make a realm whose clients all rotate their secrets."""
    with chosen_realm(spec, "rotations", [client("known")]) as made:
        _govern(made, PERIODS)
        yield made


def _govern(
    realm: ChosenRealm,
    periods: Mapping[str, int],
    condition: str = "any-client",
    access_type: str = "confidential",
) -> None:
    executor = {"executor": "secret-rotation", "configuration": periods}
    profiles = {"profiles": [{"name": "rotation", "executors": [executor]}]}
    assert realm.administer("PUT", "/client-policies/profiles", profiles).is_success
    policy = {
        "name": "rotate",
        "enabled": True,
        "conditions": [{"condition": condition, "configuration": {"type": [access_type]}}],
        "profiles": ["rotation"],
    }
    assert realm.administer("PUT", "/client-policies/policies", {"policies": [policy]}).is_success


def _make(realm: ChosenRealm, client_id: str, **attributes: str) -> str:
    """Add a client and return its path."""
    document = client(client_id, attributes=attributes)
    made = realm.administer("POST", "/clients", document)
    assert made.is_success, made.text
    return f"/clients/{realm.client(client_id)['id']}"


def _set(realm: ChosenRealm, path: str, **attributes: str) -> int:
    sent = {"attributes": {name.replace("__", "."): text for name, text in attributes.items()}}
    return realm.administer("PUT", path, sent).status_code


def _times(realm: ChosenRealm, client_id: str) -> dict[str, int]:
    """Return how far from now the times of a client's secrets are, in hundreds of seconds."""
    attributes = realm.client(client_id)["attributes"]
    names = (CREATED, EXPIRES, ROTATED_CREATED, ROTATED_EXPIRES)
    now = time.time()
    return {
        name: round((int(attributes[name]) - now) / 100) for name in names if name in attributes
    }


def test_an_expired_secret_is_refused_at_every_endpoint(realm: ChosenRealm) -> None:
    path = _make(realm, "ending", **{EXPIRES: _in(1000)})
    assert realm.token("ending").status_code == 200
    assert _set(realm, path, **{EXPIRES: _in(-1)}) == 204
    assert refusal(realm.token("ending")) == WRONG
    credentials = {"client_id": "ending", "client_secret": SECRET}
    for endpoint, form in (
        ("token", {"grant_type": "password", "username": "alice", "password": "x"}),
        ("token", {"grant_type": "refresh_token", "refresh_token": "x"}),
        ("token/introspect", {"token": "x"}),
        ("revoke", {"token": "x"}),
        ("logout", {"refresh_token": "x"}),
    ):
        assert realm.post(endpoint, credentials | form).status_code == 401, endpoint
    assert _set(realm, path, **{EXPIRES: "0"}) == 204
    assert realm.token("ending").status_code == 200


def test_an_imported_secret_that_has_expired_is_refused(realm: ChosenRealm) -> None:
    assert refusal(realm.token("expired")) == WRONG
    assert refusal(realm.token("expired", "wrong")) == WRONG


def test_the_old_secret_works_until_its_own_expiration(realm: ChosenRealm) -> None:
    path = _make(realm, "turning", **ROTATING)
    assert [realm.token("turning", one).status_code for one in (SECRET, OLD)] == [200, 200]
    assert refusal(realm.token("turning", "another")) == WRONG
    for end in (_in(-1), "0", ""):
        assert _set(realm, path, **{ROTATED_EXPIRES: end}) == 204
        assert refusal(realm.token("turning", OLD)) == WRONG
        assert realm.token("turning").status_code == 200
    assert _set(realm, path, **{ROTATED_EXPIRES: _in(50_000)}) == 204
    assert realm.token("turning", OLD).status_code == 200
    assert _set(realm, path, **{EXPIRES: _in(-1)}) == 204
    for secret in (SECRET, OLD):
        assert refusal(realm.token("turning", secret)) == WRONG


def test_a_rotated_secret_is_imported_shown_and_exported(
    realm: ChosenRealm,
) -> None:
    assert realm.token("imported", OLD).status_code == 200
    shown = realm.client("imported")
    assert (shown["secret"], shown["attributes"][ROTATED]) == (SECRET, OLD)
    path = f"/clients/{shown['id']}"
    credential = realm.administer("GET", f"{path}/client-secret/rotated")
    assert (credential.status_code, credential.json()) == (200, {"type": "secret", "value": OLD})
    exported = realm.administer("POST", "/partial-export?exportClients=true").json()
    (written,) = [one for one in exported["clients"] if one["clientId"] == "imported"]
    assert (written["secret"], written["attributes"][ROTATED]) == (MASK, MASK)
    assert OLD not in json.dumps(exported)
    assert realm.administer("PUT", path, written).is_success
    assert realm.administer("PUT", path, shown).is_success
    assert realm.token("imported", OLD).status_code == 200


def test_the_rotated_secret_is_sealed_in_the_store(realm: ChosenRealm) -> None:
    _make(realm, "sealed", **(ROTATING | {ROTATED: "canary-in-the-store"}))
    assert realm.token("sealed", "canary-in-the-store").status_code == 200
    database = realm.stack.gateways[0].state_dir / "realmgate.db"
    with closing(sqlite3.connect(database)) as connection:
        clients = connection.execute("SELECT settings FROM clients").fetchall()
        events = connection.execute("SELECT representation FROM admin_events").fetchall()
    stored = str([*clients, *events])
    assert "rotated_secret" in stored
    assert "canary-in-the-store" not in stored


def test_a_deleted_rotated_secret_is_refused_at_once(realm: ChosenRealm) -> None:
    path = _make(realm, "deleted", **ROTATING)
    rotated = f"{path}/client-secret/rotated"
    assert realm.token("deleted", OLD).status_code == 200
    assert realm.administer("DELETE", rotated).status_code == 204
    assert refusal(realm.token("deleted", OLD)) == WRONG
    assert realm.token("deleted").status_code == 200
    missing = realm.administer("GET", rotated)
    assert (missing.status_code, missing.json()) == (404, NO_ROTATED)
    assert not {ROTATED, ROTATED_CREATED, ROTATED_EXPIRES} & set(
        realm.client("deleted")["attributes"]
    )
    assert realm.administer("DELETE", rotated).status_code == 204


def test_without_a_policy_a_new_secret_is_the_only_one(
    realm: ChosenRealm,
) -> None:
    path = _make(realm, "renewed", **(ROTATING | {EXPIRES: _in(-5)}))
    made = realm.administer("POST", f"{path}/client-secret").json()["value"]
    assert realm.token("renewed", made).status_code == 200
    for gone in (SECRET, OLD):
        assert refusal(realm.token("renewed", gone)) == WRONG
    assert set(realm.client("renewed")["attributes"]) == {"realm_client", CREATED}


@pytest.mark.parametrize("name", [EXPIRES, ROTATED_EXPIRES, CREATED, ROTATED_CREATED])
@pytest.mark.parametrize("text", ["soon", "-1", "1e9", "12345678901", "2030-01-01", " 5"])
def test_a_time_that_is_none_is_not_stored(realm: ChosenRealm, name: str, text: str) -> None:
    path = f"/clients/{realm.client('plain')['id']}"
    assert _set(realm, path, **{name: text}) == 400
    assert name not in realm.client("plain")["attributes"]


def test_a_policy_lets_new_and_changed_clients_expire(governed: ChosenRealm) -> None:
    _make(governed, "new")
    assert _times(governed, "new") == {EXPIRES: 10}
    known = governed.client("known")
    assert EXPIRES not in known["attributes"]
    assert governed.administer("PUT", f"/clients/{known['id']}", {"name": "k"}).is_success
    assert _times(governed, "known") == {EXPIRES: 10}
    assert governed.token("known").status_code == 200


def test_a_policy_keeps_the_old_secret_beside_a_new_one(governed: ChosenRealm) -> None:
    path = _make(governed, "rotating")
    made = governed.administer("POST", f"{path}/client-secret").json()["value"]
    assert [governed.token("rotating", one).status_code for one in (SECRET, made)] == [200, 200]
    assert _times(governed, "rotating") == {
        CREATED: 0,
        EXPIRES: 10,
        ROTATED_CREATED: 0,
        ROTATED_EXPIRES: 5,
    }
    rotated = governed.administer("GET", f"{path}/client-secret/rotated").json()
    assert rotated == {"type": "secret", "value": SECRET}
    again = governed.administer("POST", f"{path}/client-secret").json()["value"]
    assert refusal(governed.token("rotating", SECRET)) == WRONG
    assert [governed.token("rotating", one).status_code for one in (made, again)] == [200, 200]


def test_a_policy_rotates_an_expired_secret_on_client_update(
    governed: ChosenRealm,
) -> None:
    path = _make(governed, "late", **{EXPIRES: _in(900)})
    assert governed.client("late")["secret"] == SECRET
    assert _set(governed, path, **{EXPIRES: _in(-1)}) == 204
    after = governed.client("late")
    assert after["secret"] != SECRET
    assert after["attributes"][ROTATED] == SECRET
    assert governed.token("late", after["secret"]).status_code == 200


def test_a_self_update_gets_a_new_secret_before_the_old_one_ends(
    governed: ChosenRealm,
) -> None:
    url = f"{governed.issuer}/clients-registrations/openid-connect"
    allowed = governed.administer("POST", "/clients-initial-access", {"count": 1}).json()["token"]
    http = governed.stack.http

    def ask(method: str, to: str, token: str, document: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"}
        answer = http.request(method, to, json=document, headers=headers)
        assert answer.is_success, answer.text
        return dict(answer.json())

    made = ask("POST", url, allowed, {"client_name": "r", "grant_types": ["client_credentials"]})
    assert abs(made["client_secret_expires_at"] - time.time() - 1000) < 60
    to, sent = made["registration_client_uri"], {"client_id": made["client_id"]}
    same = ask("PUT", to, made["registration_access_token"], sent)
    assert same["client_secret"] == made["client_secret"]
    path = f"/clients/{governed.client(made['client_id'])['id']}"
    assert _set(governed, path, **{EXPIRES: _in(50)}) == 204
    changed = ask("PUT", to, same["registration_access_token"], sent)
    assert changed["client_secret"] != made["client_secret"]
    for secret in (made["client_secret"], changed["client_secret"]):
        assert governed.token(made["client_id"], secret).status_code == 200


def test_no_secret_is_made_to_last_longer_than_the_policy_says(governed: ChosenRealm) -> None:
    """Neither administrators nor clients that change themselves extend what is there."""
    far = _in(90_000)
    path = _make(governed, "lasting", **(ROTATING | {ROTATED_CREATED: _in(0), EXPIRES: far}))
    assert _times(governed, "lasting") == {EXPIRES: 10, ROTATED_CREATED: 0, ROTATED_EXPIRES: 5}
    assert _set(governed, path, **{EXPIRES: _in(700), ROTATED_EXPIRES: _in(300)}) == 204
    own = f"{path}/registration-access-token"
    token = governed.administer("POST", own).json()["registrationAccessToken"]
    url = f"{governed.issuer}/clients-registrations/default/lasting"
    for end in (far, "0", ""):
        sent = {EXPIRES: end, ROTATED_EXPIRES: far}
        assert _set(governed, path, **sent) == 204
        answer = governed.stack.http.put(
            url,
            json={"clientId": "lasting", "attributes": sent},
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.is_success, answer.text
        token = answer.json()["registrationAccessToken"]
        assert _times(governed, "lasting") == {EXPIRES: 7, ROTATED_CREATED: 0, ROTATED_EXPIRES: 3}
    assert governed.client("lasting")["secret"] == SECRET


def test_a_secret_that_comes_back_lasts_no_longer_than_before(governed: ChosenRealm) -> None:
    """Rotated away, and set again with every spelling of a longer time."""
    for number, sent in enumerate(({}, {EXPIRES: ""}, {EXPIRES: _in(90_000), ROTATED: ""})):
        name = f"returning-{number}"
        path = _make(governed, name)
        made = governed.administer("POST", f"{path}/client-secret").json()["value"]
        assert _set(governed, path, **{ROTATED_EXPIRES: _in(300)}) == 204
        document = {"secret": SECRET, "attributes": sent}
        assert governed.administer("PUT", path, document).status_code == 204
        assert governed.token(name, SECRET).status_code == 200
        assert refusal(governed.token(name, made)) == WRONG
        assert _times(governed, name)[EXPIRES] == 3, sent


def test_an_expired_rotated_secret_does_not_come_back(governed: ChosenRealm) -> None:
    for number, sent in enumerate(({}, {EXPIRES: ""}, {EXPIRES: "", ROTATED: ""})):
        name = f"over-{number}"
        path = _make(governed, name)
        governed.administer("POST", f"{path}/client-secret")
        assert _set(governed, path, **{ROTATED_EXPIRES: _in(-5)}) == 204
        assert refusal(governed.token(name, SECRET)) == WRONG
        document = {"secret": SECRET, "attributes": sent}
        assert governed.administer("PUT", path, document).status_code == 204
        assert refusal(governed.token(name, SECRET)) == WRONG, sent
        other = governed.client(name)["secret"]
        assert other != SECRET
        assert governed.token(name, other).status_code == 200


def test_a_rotation_makes_no_long_expired_secret_valid_again(governed: ChosenRealm) -> None:
    """A secret is accepted for its own period and that of rotated secrets, whenever it rotates."""
    for ago, rotated in ((100, 4), (400, 1), (600, None), (90_000, None)):
        name = f"expired-{ago}"
        path = _make(governed, name)
        assert _set(governed, path, **{EXPIRES: _in(-ago)}) == 204
        assert governed.client(name)["secret"] != SECRET
        assert _times(governed, name).get(ROTATED_EXPIRES) == rotated
        assert governed.token(name, SECRET).is_success is (rotated is not None)


def test_a_policy_reaches_the_clients_that_its_condition_names(spec: Stack) -> None:
    with chosen_realm(spec, "conditions", []) as realm:
        for access_type, reached in (("confidential", True), ("public", False)):
            _govern(realm, PERIODS, "client-access-type", access_type)
            _make(realm, access_type)
            assert (EXPIRES in realm.client(access_type)["attributes"]) is reached


@pytest.mark.parametrize(
    "periods",
    [
        {"expiration-period": 0},
        {"expiration-period": 10, "rotated-expiration-period": 20},
        {**PERIODS, "remaining-rotation-period": 2000},
        {**PERIODS, "expiration-period": "long"},
        {**PERIODS, "expiration-period": 2**31},
        {**PERIODS, "rotated-expiration-period": -1},
    ],
)
def test_periods_that_make_no_sense_are_refused(
    realm: ChosenRealm, periods: dict[str, Any]
) -> None:
    executor = {"executor": "secret-rotation", "configuration": periods}
    profiles = {"profiles": [{"name": "rotation", "executors": [executor]}]}
    refused = realm.administer("PUT", "/client-policies/profiles", profiles)
    assert refused.status_code == 400
    text = (
        "proposed client profile contains the executor, which does not have valid "
        "provider, or has invalid configuration. rotation: its executor secret-rotation: "
    )
    assert refused.json()["errorMessage"].startswith(text)
