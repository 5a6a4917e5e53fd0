"""The password grant, through the real nginx.

Spec: 4.2, 5; Keycloak: 1.3, 1.5, measured on 26.7.3
"""

import base64
from datetime import UTC, datetime
from typing import Any

import pyotp
import pytest

from tests.support.spec_stack import ADMIN_PASSWORD, Stack, refusal, subject_of
from tests.support.wire import DEVICE_KEY, PASSWORD, SECRET, basic, claims_of, header_of

CREDENTIALS = (400, "invalid_grant", "Invalid user credentials")
NOT_SET_UP = (400, "invalid_grant", "Account is not fully set up")
REFUSALS = {
    "no user name": ({"username": ""}, CREDENTIALS),
    "unknown user": ({"username": "nobody"}, CREDENTIALS),
    "wrong password": ({"password": "x"}, CREDENTIALS),
    "no password": ({"password": ""}, CREDENTIALS),
    "a user without a password": ({"username": "wordless"}, CREDENTIALS),
    "a service account": ({"username": "service-account-svc"}, CREDENTIALS),
    "disabled, wrong password": ({"username": "disabled", "password": "x"}, CREDENTIALS),
    "disabled": ({"username": "disabled"}, (400, "invalid_grant", "Account disabled")),
    "required action, wrong password": (
        {"username": "unfinished", "password": "x"},
        CREDENTIALS,
    ),
    "required action": ({"username": "unfinished"}, NOT_SET_UP),
    "incomplete profile, wrong password": (
        {"username": "nameless", "password": "x"},
        CREDENTIALS,
    ),
    "incomplete profile": ({"username": "nameless"}, NOT_SET_UP),
    "no code": ({"username": "second"}, CREDENTIALS),
    "wrong code": ({"username": "second", "totp": "12345"}, CREDENTIALS),
    "unknown scope": ({"scope": "openid x"}, (400, "invalid_scope", "Invalid scopes: openid x")),
    "client without the grant": (
        {"client_id": "no-grant"},
        (400, "unauthorized_client", "Client not allowed for direct access grants"),
    ),
    "client that needs consent": (
        {"client_id": "consent"},
        (400, "invalid_client", "Client requires user consent"),
    ),
    "unknown client": (
        {"client_id": "x"},
        (401, "invalid_client", "Invalid client or Invalid client credentials"),
    ),
    "wrong secret": (
        {"client_id": "svc", "client_secret": "x"},
        (401, "unauthorized_client", "Invalid client or Invalid client credentials"),
    ),
}


@pytest.mark.parametrize(("form", "answer"), REFUSALS.values(), ids=REFUSALS)
def test_each_refusal_is_keycloaks(
    spec: Stack, form: dict[str, str], answer: tuple[int, str, str]
) -> None:
    asked = {
        "grant_type": "password",
        "client_id": "app",
        "username": "alice",
        "password": PASSWORD,
    }
    response = spec.token("spec", asked | form)
    assert refusal(response) == answer
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Pragma"] == "no-cache"
    assert response.headers["Content-Type"] == "application/json"
    assert "WWW-Authenticate" not in response.headers


@pytest.mark.parametrize(("realm"), ["verifying", "expiring"])
def test_an_unverified_address_shows_only_after_the_password(spec: Stack, realm: str) -> None:
    assert refusal(spec.sign_in("user-0", "x", realm)) == CREDENTIALS
    assert refusal(spec.sign_in("user-0", realm=realm)) == NOT_SET_UP
    assert refusal(spec.sign_in("user-0", realm=realm)) == NOT_SET_UP


@pytest.mark.parametrize("prefix", ["", "/auth"])
@pytest.mark.parametrize("way", ["form", "Basic", "public"])
def test_every_way_to_name_the_client_works_on_both_path_forms(
    spec: Stack, prefix: str, way: str
) -> None:
    form = {"grant_type": "password", "username": spec.fresh(), "password": PASSWORD}
    headers: dict[str, Any] = {
        "Accept": "application/json",
        "Cache-Control": "no-cache",
    }
    if way == "Basic":
        headers["Authorization"] = basic("svc")
    elif way == "form":
        form |= {"client_id": "svc", "client_secret": SECRET}
    else:
        form |= {"client_id": "app"}
    response = spec.token("spec", form, prefix=prefix, **headers)
    assert response.status_code == 200
    claims = claims_of(response.json()["access_token"])
    assert claims["azp"] == ("app" if way == "public" else "svc")
    assert claims["iss"] == f"{spec.nginx.https}/realms/spec"


@pytest.mark.parametrize("prefix", ["", "/auth"])
def test_admin_cli_needs_no_secret_and_its_token_lists_users(spec: Stack, prefix: str) -> None:
    form = {
        "client_id": "admin-cli",
        "grant_type": "password",
        "username": "admin",
        "password": ADMIN_PASSWORD,
    }
    token = spec.token("master", form, prefix=prefix).json()["access_token"]
    claims = claims_of(token)
    assert set(claims) == {"exp", "iat", "jti", "iss", "typ", "azp", "sid", "scope"}
    assert claims["jti"].startswith("onltro:")
    listed = spec.http.get(
        f"{spec.nginx.https}{prefix}/admin/realms/spec/users",
        headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
    )
    assert listed.status_code == 200
    assert len(listed.json()) > 1


def test_the_response_has_every_field_in_keycloaks_order(spec: Stack) -> None:
    response = spec.sign_in("alice", scope="openid")
    document = response.json()
    assert list(document) == [
        "access_token",
        "expires_in",
        "refresh_expires_in",
        "refresh_token",
        "token_type",
        "id_token",
        "not-before-policy",
        "session_state",
        "scope",
    ]
    assert (document["expires_in"], document["refresh_expires_in"]) == (300, 1800)
    assert (document["token_type"], document["not-before-policy"]) == ("Bearer", 0)
    assert len(document["session_state"]) == 24
    assert sorted(document["scope"].split()) == ["email", "openid", "profile"]
    assert response.headers["Cache-Control"] == "no-store"
    access, refresh, identity = (
        claims_of(document[name]) for name in ("access_token", "refresh_token", "id_token")
    )
    assert header_of(document["access_token"])["alg"] == "ES256"
    assert header_of(document["refresh_token"])["alg"] == "HS512"
    assert access["sid"] == refresh["sid"] == identity["sid"] == document["session_state"]
    assert access["sub"] == refresh["sub"] == identity["sub"]
    assert (access["typ"], refresh["typ"], identity["typ"]) == ("Bearer", "Refresh", "ID")
    assert (identity["aud"], refresh["aud"]) == ("app", f"{spec.nginx.https}/realms/spec")
    assert "auth_time" not in access
    assert access["jti"].startswith("onrtro:")
    assert "at_hash" in identity


def test_without_openid_there_is_no_id_token(spec: Stack) -> None:
    document = spec.signed_in(spec.fresh())
    assert "id_token" not in document
    assert "openid" not in document["scope"].split()


def test_offline_access_gives_a_session_that_does_not_run_out(spec: Stack) -> None:
    document = spec.signed_in(spec.fresh(), scope="openid offline_access")
    claims = claims_of(document["refresh_token"])
    assert claims["typ"] == "Offline"
    assert "exp" not in claims
    assert document["refresh_expires_in"] == 0
    assert sorted(document["scope"].split()) == ["email", "offline_access", "openid", "profile"]
    assert claims_of(document["access_token"])["jti"].startswith("ofrtro:")


def test_a_client_may_omit_refresh_tokens_or_set_their_lifespan(spec: Stack) -> None:
    without = spec.signed_in(spec.fresh(), client_id="no-refresh")
    assert "refresh_token" not in without
    assert without["refresh_expires_in"] == 0
    assert spec.signed_in(spec.fresh(), client_id="brief")["expires_in"] == 17


def test_a_second_factor_is_taken_once(spec: Stack) -> None:
    key = base64.b32encode(DEVICE_KEY.encode()).decode()
    now = datetime.now(UTC)
    present, after = (pyotp.TOTP(key).at(now, counter_offset=offset) for offset in (0, 1))
    assert refusal(spec.sign_in("second", "x", totp=present)) == CREDENTIALS
    assert spec.sign_in("second", totp=present).status_code == 200
    assert refusal(spec.sign_in("second", totp=present)) == CREDENTIALS
    assert spec.sign_in("second", otp=after).status_code == 200


def test_a_bound_token_names_the_certificate_and_requires_one(spec: Stack) -> None:
    form = {
        "grant_type": "password",
        "client_id": "bound-app",
        "client_secret": SECRET,
        "username": spec.fresh(),
        "password": PASSWORD,
    }
    refused = spec.token("spec", form)
    text = "Client Certification missing for MTLS HoK Token Binding"
    assert refusal(refused) == (400, "invalid_request", text)
    with spec.nginx.client(spec.certificates.pair("device-1")) as http:
        document = spec.token("spec", form, http=http).json()
    for name in ("access_token", "refresh_token"):
        assert set(claims_of(document[name])["cnf"]) == {"x5t#S256"}


def test_the_tokens_speak_for_the_user_who_signed_in(spec: Stack) -> None:
    name = spec.fresh()
    assert subject_of(spec.signed_in(name)) == spec.id_of(name)
