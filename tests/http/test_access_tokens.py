"""What an access token says, and who can check it. Keycloak: 1.3, 2.1, 2.2; RFC 8705 §3.1."""

import re
from datetime import UTC, datetime

import jwt
import pytest

from tests.support.wire import ALGORITHMS, PUBLIC_URL, Wire, claims_of, header_of

ISSUER = f"{PUBLIC_URL}/realms/wire"


def test_the_response_has_keycloaks_members_in_order(wire: Wire) -> None:
    document = wire.token_request().json()
    assert list(document) == [
        "access_token",
        "expires_in",
        "refresh_expires_in",
        "token_type",
        "not-before-policy",
        "scope",
    ]
    assert {name: document[name] for name in list(document)[1:]} == {
        "expires_in": 300,
        "refresh_expires_in": 0,
        "token_type": "Bearer",
        "not-before-policy": 0,
        "scope": "email profile",
    }


def test_the_claims_of_a_service_account_are_keycloaks(wire: Wire) -> None:
    before = int(datetime.now(UTC).timestamp())
    claims = claims_of(wire.token())
    assert before <= claims["iat"] <= before + 5
    assert claims["exp"] == claims["iat"] + 300
    assert re.fullmatch(r"trrtcc:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", claims["jti"])
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", claims["sub"])
    expected = {
        "iss": ISSUER,
        "typ": "Bearer",
        "azp": "svc",
        "acr": "1",
        "scope": "email profile",
        "email_verified": False,
        "preferred_username": "service-account-svc",
        "client_id": "svc",
        "clientHost": "203.0.113.9",
        "clientAddress": "203.0.113.9",
    }
    assert {name: claims.get(name) for name in expected} == expected
    assert sorted(claims["realm_access"]["roles"]) == [
        "default-roles-wire",
        "offline_access",
        "uma_authorization",
    ]
    assert "sid" not in claims
    assert "cnf" not in claims


def test_service_account_names_are_lower_case_and_stable(wire: Wire) -> None:
    first, second = claims_of(wire.token("UPPER")), claims_of(wire.token("UPPER"))
    assert first["preferred_username"] == "service-account-upper"
    assert first["client_id"] == "UPPER"
    assert first["sub"] == second["sub"]
    assert first["jti"] != second["jti"]
    assert first["allowed-origins"] == ["https://a.example"]


def test_the_header_names_the_realms_key(wire: Wire) -> None:
    header = header_of(wire.token())
    keys = wire.get("/realms/wire/protocol/openid-connect/certs").json()["keys"]
    assert header["alg"] == "RS256"
    assert header["typ"] == "JWT"
    assert header["kid"] in {key["kid"] for key in keys}


@pytest.mark.parametrize("algorithm", ["RS256", *ALGORITHMS])
def test_an_independent_verifier_accepts_every_algorithm(wire: Wire, algorithm: str) -> None:
    """The client's own algorithm, or the realm's. RFC 7518 §3.1, RFC 8037 §3.1."""
    token = wire.token("svc" if algorithm == "RS256" else f"alg-{algorithm}")
    keys = jwt.PyJWKSet.from_dict(wire.get("/realms/wire/protocol/openid-connect/certs").json())
    key = keys[header_of(token)["kid"]]
    claims = jwt.decode(token, key, [algorithm], issuer=ISSUER, options={"verify_aud": False})
    assert header_of(token)["alg"] == algorithm
    assert claims["preferred_username"].startswith("service-account-")


def test_the_realms_lifespan_and_algorithm_are_obeyed(wire: Wire) -> None:
    """Specification 2.1: access_token_lifespan, default_signature_algorithm."""
    document = wire.token_request(realm="brief").json()
    assert document["expires_in"] == 60
    assert header_of(document["access_token"])["alg"] == "ES256"


def test_a_clients_own_lifespan_wins_within_the_sessions_maximum(wire: Wire) -> None:
    assert wire.token_request({"client_id": "lifespan"}).json()["expires_in"] == 17
    assert wire.token_request({"client_id": "endless"}).json()["expires_in"] == 36000


def test_a_client_may_ask_for_a_lower_case_token_type(wire: Wire) -> None:
    answer = wire.token_request({"client_id": "lower"}).json()
    assert answer["token_type"] == "bearer"
    assert claims_of(answer["access_token"])["typ"] == "bearer"


def test_a_client_without_full_scope_gets_no_roles(wire: Wire) -> None:
    claims = claims_of(wire.token("scopeless"))
    assert "realm_access" not in claims
    assert "aud" not in claims


def test_audience_mappers_name_clients_the_asking_one_included(wire: Wire) -> None:
    assert claims_of(wire.token("aud"))["aud"] == ["aud", "svc2", "account"]


def test_the_issuer_is_the_configured_one_whatever_host_is_asked(wire: Wire) -> None:
    """Attacks A21."""
    forged = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    assert claims_of(wire.token(**forged))["iss"] == ISSUER
    metadata = wire.get("/realms/wire/.well-known/openid-configuration", **forged)
    assert metadata.json()["issuer"] == ISSUER
    assert "evil" not in metadata.text
