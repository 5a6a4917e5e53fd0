"""Introspection: who learns what of a token. RFC 7662 §2; Keycloak: 12.4 (26.7.3)."""

import jwt
import pytest

from tests.support.tokens import forgeries
from tests.support.wire import SECRET, Wire, basic, claims_of, header_of, protocol

AS_SVC2 = {"client_id": "svc2", "client_secret": SECRET}
INACTIVE = {"active": False}


def test_a_client_in_the_audience_sees_the_claims(wire: Wire) -> None:
    token = wire.token("aud")
    for caller in ("svc2", "aud"):
        answer = wire.introspect(token, caller).json()
        claims = claims_of(token)
        del claims["clientHost"], claims["clientAddress"]
        assert answer == claims | {
            "client_id": "aud",
            "username": "service-account-aud",
            "token_type": "Bearer",
            "active": True,
        }
        assert list(answer)[-4:] == ["client_id", "username", "token_type", "active"] or (
            list(answer)[-3:] == ["username", "token_type", "active"]
        )


def test_others_learn_nothing_of_a_token_not_even_its_client(wire: Wire) -> None:
    """Attacks C17: the audience decides."""
    token = wire.token("svc")
    for caller in ("svc", "svc2"):
        response = wire.introspect(token, caller)
        assert (response.status_code, response.json()) == (200, INACTIVE)


def test_a_bearer_only_client_may_introspect(wire: Wire) -> None:
    response = wire.introspect("x", "bear")
    assert (response.status_code, response.json()) == (200, INACTIVE)


@pytest.mark.parametrize("token", ["", " ", "garbage", "a.b.c", "a.b.c.d.e", "x" * 9000])
def test_what_is_no_token_is_inactive(wire: Wire, token: str) -> None:
    assert wire.introspect(token).json() == INACTIVE


def test_every_forgery_is_inactive(wire: Wire) -> None:
    """Attacks C13, C14: alg, key confusion, kid, embedded keys."""
    genuine = wire.token("aud")
    keys = wire.get(protocol("wire", "certs")).json()["keys"]
    key = next(key for key in keys if key["kid"] == header_of(genuine)["kid"])
    tried = [forgery for forgery in forgeries(genuine, key) if len(forgery.token) < 16_000]
    accepted = [
        forgery.name for forgery in tried if wire.introspect(forgery.token).json() != INACTIVE
    ]
    assert len(tried) > 40
    assert accepted == []


def test_a_token_of_another_realm_is_inactive(wire: Wire) -> None:
    token = wire.token_request(realm="other").json()["access_token"]
    assert wire.introspect(token, "svc2").json() == INACTIVE


@pytest.mark.parametrize(
    ("hint", "active"),
    [
        ("access_token", True),
        ("requesting_party_token", True),
        ("x", True),
        ("", True),
        ("refresh_token", False),
    ],
)
def test_any_hint_but_refresh_token_means_an_access_token(
    wire: Wire, hint: str, *, active: bool
) -> None:
    """RFC 7662 §2.1: a server may ignore the hint."""
    answer = wire.introspect(wire.token("aud"), form={"token_type_hint": hint}).json()
    assert answer["active"] is active


def test_a_lower_case_type_is_described_as_it_is(wire: Wire) -> None:
    answer = wire.introspect(wire.token("lower")).json()
    assert (answer["active"], answer["typ"], answer["token_type"]) == (True, "bearer", "bearer")


@pytest.mark.parametrize("scope", ["openid", "openid offline_access"])
def test_an_id_token_is_active_for_its_client_during_the_session(wire: Wire, scope: str) -> None:
    """Keycloak: 12.4."""
    form = {"client_id": "svc", "client_secret": SECRET, "scope": scope}
    tokens = wire.sign_in(form=form).json()
    token = tokens["id_token"]
    claims = claims_of(token)
    answer = wire.introspect(token, "svc", realm="people").json()
    assert (answer["active"], answer["typ"], answer["token_type"]) == (True, "ID", "ID")
    assert {name: answer[name] for name in ("jti", "sub", "sid", "azp", "exp")} == {
        name: claims[name] for name in ("jti", "sub", "sid", "azp", "exp")
    }
    assert answer["username"] == "alice"
    assert not {"at_hash", "scope"} & set(answer)
    assert wire.introspect(token, "watcher", realm="people").json() == INACTIVE
    as_refresh_token = {"token_type_hint": "refresh_token"}
    assert wire.introspect(token, "svc", as_refresh_token, realm="people").json() == INACTIVE
    logout = form | {"refresh_token": tokens["refresh_token"]}
    assert wire.post("logout", logout, realm="people").status_code == 204
    assert wire.introspect(token, "svc", realm="people").json() == INACTIVE


def test_an_id_token_of_a_service_account_is_described(wire: Wire) -> None:
    form = {"client_id": "svc2", "scope": "openid"}
    token = wire.token_request(form).json()["id_token"]
    answer = wire.introspect(token, "svc2").json()
    assert (answer["token_type"], answer["username"]) == ("ID", "service-account-svc2")


def test_an_id_token_permits_nothing(wire: Wire) -> None:
    """Attacks C15."""
    form = {"client_id": "svc", "client_secret": SECRET, "scope": "openid"}
    token = wire.sign_in(form=form).json()["id_token"]
    userinfo = wire.get(protocol("people", "userinfo"), Authorization=f"Bearer {token}")
    assert userinfo.status_code == 401
    admin = wire.get("/admin/realms/people", Authorization=f"Bearer {token}")
    assert admin.status_code == 401


REFUSALS = {
    "no client": ({"token": "x"}, 401, "invalid_client"),
    "unknown client": ({"client_id": "nobody", "token": "x"}, 401, "invalid_client"),
    "wrong secret": ({"client_id": "svc2", "client_secret": "x"}, 401, "invalid_client"),
    "public client": ({"client_id": "pub", "token": "x"}, 403, "invalid_request"),
    "no token": (AS_SVC2, 400, "invalid_request"),
}
TEXTS = {
    "no client": "Invalid client or Invalid client credentials",
    "unknown client": "Invalid client or Invalid client credentials",
    "wrong secret": "Client authentication failed.",
    "public client": "Client not allowed.",
    "no token": "Token not provided.",
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_has_its_documented_status_code_and_text(wire: Wire, case: str) -> None:
    form, status, error = REFUSALS[case]
    response = wire.post("token/introspect", form)
    assert response.status_code == status
    assert response.json() == {"error": error, "error_description": TEXTS[case]}


def test_a_repeated_parameter_is_refused(wire: Wire) -> None:
    """Attacks C19."""
    response = wire.post("token/introspect", [("token", "x"), *AS_SVC2.items(), ("token", "x")])
    assert response.json()["error_description"] == "duplicated parameter"


def test_a_basic_header_authenticates(wire: Wire) -> None:
    form = {"token": wire.token("aud")}
    answer = wire.post("token/introspect", form, Authorization=basic("svc2")).json()
    assert answer["active"] is True


def test_the_answer_is_not_stored(wire: Wire) -> None:
    assert wire.introspect("x").headers["cache-control"] == "no-store"


def test_a_disabled_realm_answers_nobody(wire: Wire) -> None:
    response = wire.post("token/introspect", AS_SVC2 | {"token": "x"}, realm="off")
    assert response.json() == {"error": "access_denied", "error_description": "Realm not enabled"}


def test_the_claims_verify_elsewhere_too(wire: Wire) -> None:
    token = wire.token("aud")
    keys = jwt.PyJWKSet.from_dict(wire.get(protocol("wire", "certs")).json())
    claims = jwt.decode(token, keys[header_of(token)["kid"]], ["RS256"], audience="svc2")
    assert wire.introspect(token).json()["jti"] == claims["jti"]
