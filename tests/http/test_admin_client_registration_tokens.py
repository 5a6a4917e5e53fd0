"""Tokens for registering clients, as administrators make them. Keycloak: 7.3."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration

ADMINISTRATORS = {
    "viewer": ["view-clients"],
    "manager": ["manage-clients"],
    "greater": ["manage-clients", "manage-users"],
}
APP = "clients/app-id/registration-access-token"
ACCESS = "clients-initial-access"
FORBIDDEN = (403, {"error": "HTTP 403 Forbidden"})


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with a client."""
    client = {"id": "app-id", "clientId": "app", "enabled": True}
    with administered_realm(
        administration, "of-registration-tokens", ADMINISTRATORS, clients=[client]
    ) as made:
        yield made


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of a token, which nobody but the gateway can check."""
    header, claims = (
        json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        for part in token.split(".")[:2]
    )
    return header, claims


def test_a_registration_token_is_told_with_its_client(realm: AdministeredRealm) -> None:
    response = realm.ask("POST", APP, by="manager")
    assert response.status_code == 200
    told = response.json()
    order = list(told)
    assert order[order.index("registrationAccessToken") - 1] == "secret"
    token = told.pop("registrationAccessToken")
    client = realm.get("clients/app-id")
    del client["access"]
    assert told == client
    header, claims = parts(token)
    assert header["alg"] == "HS512"
    issuer = f"https://gateway.test/realms/{realm.name}"
    assert (claims.pop("iat") > 0, bool(claims.pop("jti"))) == (True, True)
    assert claims == {
        "exp": 0,
        "iss": issuer,
        "aud": issuer,
        "typ": "RegistrationAccessToken",
        "registration_auth": "authenticated",
    }


def test_a_registration_token_is_told_once(realm: AdministeredRealm) -> None:
    realm.change("POST", APP)
    assert "registrationAccessToken" not in realm.get("clients/app-id")


def test_nobody_makes_tokens_of_who_may_do_more(realm: AdministeredRealm) -> None:
    path = "clients/client-of-greater/registration-access-token"
    assert realm.refused("POST", path, by="manager") == FORBIDDEN
    assert realm.refused("POST", APP, by="viewer") == FORBIDDEN
    (holder,) = realm.get("clients?clientId=realm-management")
    path = f"clients/{holder['id']}/registration-access-token"
    assert realm.refused("POST", path) == FORBIDDEN


def test_a_client_that_is_not_there_gets_no_token(realm: AdministeredRealm) -> None:
    missing = (404, {"error": "Could not find client"})
    (theirs,) = realm.administration.ask("GET", "acme/clients?clientId=nobody").json()
    for client in ("nobody", theirs["id"]):
        path = f"clients/{client}/registration-access-token"
        assert realm.refused("POST", path) == missing


def test_an_initial_token_is_told_once(realm: AdministeredRealm) -> None:
    document = {"count": 2, "expiration": 100, "webOrigins": ["https://a.test"]}
    response = realm.ask("POST", ACCESS, document, by="manager")
    assert response.status_code == 201
    made = response.json()
    assert list(made) == ["id", "token", "timestamp", "expiration", "count", "remainingCount"]
    url = f"https://gateway.test/admin/realms/{realm.name}/{ACCESS}/{made['id']}"
    assert response.headers["location"] == url
    token = made.pop("token")
    assert made in realm.get(ACCESS, by="viewer")
    header, claims = parts(token)
    assert header["alg"] == "HS512"
    assert claims["exp"] == made["timestamp"] + 100
    assert claims["jti"] == made["id"]
    assert (claims["typ"], claims["allowed-origins"]) == ("InitialAccessToken", ["https://a.test"])


@pytest.mark.parametrize(
    ("document", "count", "expiration"),
    [({}, 1, 0), ({"count": 0}, 0, 0), ({"expiration": 5, "webOrigins": None}, 1, 5)],
)
def test_an_initial_token_is_by_default_for_one_client_forever(
    realm: AdministeredRealm, document: dict[str, Any], count: int, expiration: int
) -> None:
    made = realm.ask("POST", ACCESS, document).json()
    assert (made["count"], made["remainingCount"], made["expiration"]) == (count, count, expiration)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            {"count": -1},
            {
                "error": "Invalid value for count",
                "error_description": "The count cannot be less than 0",
            },
        ),
        (
            {"expiration": -5},
            {
                "error": "Invalid value for expiration",
                "error_description": "The expiration time interval cannot be less than 0",
            },
        ),
        ({"count": "x"}, None),
        ({"count": 10**20}, None),
        ({"count": True}, None),
        ({"webOrigins": "x"}, None),
        ({"webOrigins": ["\0"]}, None),
        ({"bogus": 1}, None),
        ([], None),
    ],
)
def test_what_is_no_wish_is_refused(
    realm: AdministeredRealm, document: Any, said: dict[str, str] | None
) -> None:
    before = realm.get(ACCESS)
    status, answer = realm.refused("POST", ACCESS, document)
    assert status == 400
    assert said is None or answer == said
    assert realm.get(ACCESS) == before


def test_what_nothing_is_left_of_is_forgotten(realm: AdministeredRealm) -> None:
    made = realm.ask("POST", ACCESS, {"count": 0}).json()
    assert made["id"] in {one["id"] for one in realm.get(ACCESS)}
    later = realm.ask("POST", ACCESS, {"count": 1}).json()
    ids = {one["id"] for one in realm.get(ACCESS)}
    assert made["id"] not in ids
    assert later["id"] in ids


def test_an_initial_token_is_taken_back(realm: AdministeredRealm) -> None:
    made = realm.ask("POST", ACCESS, {"count": 1}).json()
    path = f"{ACCESS}/{made['id']}"
    assert realm.refused("DELETE", path, by="viewer") == FORBIDDEN
    assert realm.administration.ask("DELETE", f"other/{path}").status_code == 204
    assert made["id"] in {one["id"] for one in realm.get(ACCESS)}
    assert realm.ask("DELETE", path).status_code == 204
    assert made["id"] not in {one["id"] for one in realm.get(ACCESS)}
    assert realm.ask("DELETE", path).status_code == 204
    assert realm.ask("DELETE", f"{ACCESS}/{'x' * 300}").status_code == 204


def test_only_managers_allow_clients_to_be_registered(realm: AdministeredRealm) -> None:
    assert realm.refused("POST", ACCESS, {"count": 1}, by="viewer") == FORBIDDEN


def test_tokens_are_recorded_without_their_text(realm: AdministeredRealm) -> None:
    seen = len(realm.events())
    realm.change("POST", APP)
    made = realm.ask("POST", ACCESS, {"count": 3}).json()
    for _ in range(2):
        realm.change("DELETE", f"{ACCESS}/{made['id']}")
    first, *others = realm.events()[seen:]
    assert first[:3] == ("ACTION", "CLIENT", APP)
    assert first[3]["registrationAccessToken"] == first[3]["secret"] == "**********"
    assert first[3]["clientId"] == "app"
    path = f"{ACCESS}/{made['id']}"
    assert others == [
        ("CREATE", "CLIENT_INITIAL_ACCESS_MODEL", path, {"count": 3}),
        ("DELETE", "CLIENT_INITIAL_ACCESS_MODEL", path, None),
    ]
