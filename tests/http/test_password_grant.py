"""The password grant: who gets in, and what each refusal says. Keycloak: 1.5 (26.7)."""

import base64
from datetime import UTC, datetime

import pyotp
import pytest

from tests.support.wire import DEVICE_KEY, PASSWORD, SECRET, Wire, basic, claims_of, header_of

CREDENTIALS = (400, "invalid_grant", "Invalid user credentials")
REFUSALS = {
    "client without the grant": (
        {"client_id": "no-grant"},
        (400, "unauthorized_client", "Client not allowed for direct access grants"),
    ),
    "client that needs consent": (
        {"client_id": "consent"},
        (400, "invalid_client", "Client requires user consent"),
    ),
    "an empty user name": ({"username": ""}, CREDENTIALS),
    "unknown scope": ({"scope": "x"}, (400, "invalid_scope", "Invalid scopes: x")),
    "unknown user": ({"username": "nobody"}, CREDENTIALS),
    "wrong password": ({"username": "bob", "password": "x"}, CREDENTIALS),
    "no password": ({"username": "bob", "password": ""}, CREDENTIALS),
    "a user without a password": ({"username": "wordless"}, CREDENTIALS),
    "a service account": ({"username": "service-account-svc"}, CREDENTIALS),
    "disabled, wrong password": ({"username": "disabled", "password": "x"}, CREDENTIALS),
    "disabled, right password": (
        {"username": "disabled"},
        (400, "invalid_grant", "Account disabled"),
    ),
    "unfinished, wrong password": ({"username": "unfinished", "password": "x"}, CREDENTIALS),
    "unfinished, right password": (
        {"username": "unfinished"},
        (400, "invalid_grant", "Account is not fully set up"),
    ),
}
Answer = tuple[int, str, str]


@pytest.mark.parametrize(("form", "answer"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_has_its_documented_status_code_and_text(
    wire: Wire, form: dict[str, str], answer: Answer
) -> None:
    status, error, description = answer
    response = wire.sign_in(form=form)
    assert (response.status_code, response.json()) == (
        status,
        {"error": error, "error_description": description},
    )


def test_the_response_has_every_member_in_keycloaks_order(wire: Wire) -> None:
    document = wire.sign_in(form={"scope": "openid"}).json()
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
    assert document["expires_in"] == 300
    assert document["refresh_expires_in"] == 1800
    assert document["scope"] == "openid email profile"


def test_the_tokens_tell_of_the_user_in_keycloaks_shape(wire: Wire) -> None:
    document = wire.sign_in(form={"scope": "openid"}).json()
    access, identity, refresh = (
        claims_of(document[name]) for name in ("access_token", "id_token", "refresh_token")
    )
    told = {
        "preferred_username": "alice",
        "name": "Ada Alice",
        "given_name": "Ada",
        "family_name": "Alice",
        "email": "alice@example.test",
        "email_verified": True,
        "acr": "1",
        "azp": "app",
        "sid": document["session_state"],
    }
    assert {name: access.get(name) for name in told} == told
    assert {name: identity.get(name) for name in told} == told
    assert (access["typ"], identity["typ"], refresh["typ"]) == ("Bearer", "ID", "Refresh")
    assert access["jti"].startswith("onrtro:")
    assert identity["aud"] == "app"
    assert refresh["aud"] == refresh["iss"]
    assert access["sub"] == identity["sub"] == refresh["sub"]
    assert "default-roles-people" in access["realm_access"]["roles"]
    assert "realm_access" not in identity
    assert header_of(document["refresh_token"])["alg"] == "HS512"


def test_without_openid_there_is_no_id_token(wire: Wire) -> None:
    assert "id_token" not in wire.sign_in().json()


@pytest.mark.parametrize("name", ["ALICE", "alice@example.test", "Alice@Example.TEST"])
def test_names_and_addresses_of_any_case_sign_in(wire: Wire, name: str) -> None:
    claims = claims_of(wire.sign_in(name).json()["access_token"])
    assert claims["preferred_username"] == "alice"


def test_a_confidential_client_proves_itself_first(wire: Wire) -> None:
    form = {"grant_type": "password", "username": "alice", "password": PASSWORD}
    assert wire.sign_in(form={"client_id": "svc"}).status_code == 401
    good = wire.post("token", form, realm="people", Authorization=basic("svc"))
    assert sorted(claims_of(good.json()["access_token"])["aud"]) == ["account", "svc"]


def test_an_administrators_lightweight_token_has_hardly_a_claim(wire: Wire) -> None:
    claims = claims_of(wire.sign_in(form={"client_id": "light"}).json()["access_token"])
    assert set(claims) == {"exp", "iat", "jti", "iss", "typ", "azp", "sid", "scope"}
    assert claims["jti"].startswith("onltro:")


def test_a_client_may_do_without_refresh_tokens(wire: Wire) -> None:
    document = wire.sign_in(form={"client_id": "no-refresh"}).json()
    assert "refresh_token" not in document
    assert document["refresh_expires_in"] == 0


def test_offline_access_gives_a_session_of_its_own_kind(wire: Wire) -> None:
    document = wire.sign_in(form={"scope": "offline_access"}).json()
    refresh = claims_of(document["refresh_token"])
    assert refresh["typ"] == "Offline"
    assert "exp" not in refresh
    assert document["refresh_expires_in"] == 0
    assert claims_of(document["access_token"])["jti"].startswith("ofrtro:")
    assert wire.refresh(document["refresh_token"]).status_code == 200


def test_a_bound_client_binds_access_and_refresh_token(wire: Wire) -> None:
    """RFC 8705 §3, §7.1; attacks A19."""
    form = {"client_id": "bound-app", "client_secret": SECRET}
    assert wire.sign_in(form=form).status_code == 400
    document = wire.sign_in(form=form, certificate="device-1").json()
    assert claims_of(document["access_token"])["cnf"] == claims_of(document["refresh_token"])["cnf"]
    for certificate in ("device-2", None):
        stolen = wire.refresh(document["refresh_token"], form, certificate=certificate)
        assert (stolen.status_code, stolen.json()["error"]) == (401, "unauthorized_client")
    assert wire.refresh(document["refresh_token"], form, certificate="device-1").status_code == 200


def test_a_second_factor_is_read_from_otp_and_then_totp(
    wire: Wire,
) -> None:
    key = base64.b32encode(DEVICE_KEY.encode()).decode()
    now = datetime.now(UTC)
    before, present, after = (
        pyotp.TOTP(key).at(now, counter_offset=offset) for offset in (-1, 0, 1)
    )
    wrong = "000000" if "000000" not in {before, present, after} else "000001"
    refused: list[dict[str, str]] = [
        {},
        {"totp": wrong},
        {"otp": wrong, "totp": present},
        {"totp": present, "password": "x"},
    ]
    for form in refused:
        document = wire.sign_in("second", form).json()
        assert document["error_description"] == "Invalid user credentials"
    accepted = [{"totp": present}, {"otp": after, "totp": wrong}]
    for form in accepted:
        assert wire.sign_in("second", form).status_code == 200
    assert wire.sign_in("second", {"totp": present}).status_code == 400
