"""Users, their credentials and what their tokens tell, through the real nginx.

Spec: 2.3 (hashAlgorithm), 2.5; Keycloak: 2.2, 5.4
"""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.spec_stack import Stack, refusal
from tests.support.wire import PASSWORD, claims_of

CREDENTIALS = (400, "invalid_grant", "Invalid user credentials")


@pytest.mark.parametrize("username", ["sha1", "sha256", "sha512", "argon2"])
def test_a_hash_of_a_keycloak_export_verifies_unchanged(spec: Stack, username: str) -> None:
    assert refusal(spec.sign_in(username, "wrong", "imported")) == CREDENTIALS
    spec.signed_in(username, "imported")
    # Hashed anew by then, for the realm asks for another cost: it is still the same password.
    spec.signed_in(username, "imported")
    assert refusal(spec.sign_in(username, "wrong", "imported")) == CREDENTIALS


def test_a_password_verifies_however_its_accents_are_composed(spec: Stack) -> None:
    for form in ("NFC", "NFD"):
        typed = unicodedata.normalize(form, "p\u00e4ssword")
        assert spec.sign_in("accented", typed, "imported").status_code == 200


@pytest.mark.parametrize("name", ["alice", "ALICE", "alice@example.test", "Alice@Example.Test"])
def test_a_user_signs_in_by_name_or_address_in_any_case(spec: Stack, name: str) -> None:
    assert claims_of(spec.signed_in(name)["access_token"])["preferred_username"] == "alice"


@pytest.mark.parametrize(
    "password",
    ["", "x" * 1025, f" {PASSWORD}", PASSWORD.lower(), "\U0001f600" * 300],
    ids=["empty", "over-long", "a blank before", "other case", "emoji"],
)
def test_what_is_not_the_password_is_refused_alike(spec: Stack, password: str) -> None:
    assert refusal(spec.sign_in(spec.fresh(), password)) == CREDENTIALS


@pytest.mark.parametrize("name", ["x" * 256, "\U0001f600", "a b", "user-0@"])
def test_a_name_that_nobody_has_is_refused_alike(spec: Stack, name: str) -> None:
    assert refusal(spec.sign_in(name)) == CREDENTIALS


def test_broken_encoding_and_repeated_parameters_count_nothing(spec: Stack) -> None:
    name = spec.fresh("guarded")
    broken = ("password=%zz", "password=%00", "password=%ff", "password=%ed%a0%80")
    for field in (*broken, "password=a&password=b", f"username={name}&password=x"):
        body = f"grant_type=password&client_id=app&username={name}&{field}"
        answer = spec.http.post(
            f"{spec.nginx.https}/realms/guarded/protocol/openid-connect/token",
            content=body,
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert spec.attack_status(name, "guarded")["numFailures"] == 0


def test_excess_logins_are_shed_with_a_retry_time(spec: Stack) -> None:
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda _: spec.sign_in("user-0", "wrong", "slow"), range(40)))
    shed = [answer for answer in answers if answer.status_code == 503]
    assert {answer.status_code for answer in answers} == {400, 503}
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in shed)
    assert {answer.json()["error"] for answer in shed} == {"temporarily_unavailable"}
    assert spec.sign_in("user-0", realm="slow").status_code == 200


def test_composite_roles_are_in_the_token_as_in_keycloak(
    spec: Stack,
) -> None:
    claims = claims_of(spec.signed_in("alice")["access_token"])
    roles = set(claims["realm_access"]["roles"])
    assert roles == {"editor", "reader"}
    assert set(claims["resource_access"]["shop"]["roles"]) == {"buy", "sell"}
    assert claims["aud"] == "shop"
    other = claims_of(spec.signed_in(spec.fresh())["access_token"])
    assert "shop" not in other["resource_access"]
    assert {"offline_access", "default-roles-spec"} <= set(other["realm_access"]["roles"])


def test_the_built_in_scopes_tell_who_the_user_is(spec: Stack) -> None:
    claims = claims_of(spec.signed_in("alice")["access_token"])
    told = {
        name: claims[name]
        for name in (
            "acr",
            "allowed-origins",
            "email",
            "email_verified",
            "family_name",
            "given_name",
            "name",
            "preferred_username",
            "scope",
        )
    }
    assert told == {
        "acr": "1",
        "allowed-origins": ["https://app.example"],
        "email": "alice@example.test",
        "email_verified": True,
        "family_name": "Alice",
        "given_name": "Ada",
        "name": "Ada Alice",
        "preferred_username": "alice",
        "scope": told["scope"],
    }
    assert set(told["scope"].split()) == {"email", "profile"}
