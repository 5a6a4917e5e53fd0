"""Revocation: a client ends its own token. RFC 7009 §2; Keycloak: 12.5 (26.7.3)."""

import pytest

from tests.support.wire import SECRET, Wire

AS_AUD = {"client_id": "aud", "client_secret": SECRET}
INVALID = {"error": "invalid_token", "error_description": "Invalid token"}


def test_a_revoked_token_is_inactive_at_once_and_twice_is_once(wire: Wire) -> None:
    token, other = wire.token("aud"), wire.token("aud")
    assert wire.introspect(token).json()["active"] is True
    for _ in range(2):
        response = wire.post("revoke", AS_AUD | {"token": token})
        assert (response.status_code, response.content) == (200, b"")
    assert wire.introspect(token).json() == {"active": False}
    assert wire.introspect(other).json()["active"] is True


def test_success_carries_the_content_security_policy(wire: Wire) -> None:
    response = wire.post("revoke", AS_AUD | {"token": wire.token("aud")})
    assert "frame-ancestors 'self'" in response.headers["content-security-policy"]


def test_nobody_revokes_the_token_of_another_client(wire: Wire) -> None:
    token = wire.token("aud")
    response = wire.post("revoke", {"client_id": "svc", "client_secret": SECRET, "token": token})
    assert response.status_code == 400
    assert response.json() == {
        "error": "invalid_request",
        "error_description": "Unmatching clients",
    }
    assert wire.introspect(token).json()["active"] is True


@pytest.mark.parametrize("token", ["", "garbage", "a.b.c"])
def test_what_is_no_token_needs_no_revocation(wire: Wire, token: str) -> None:
    response = wire.post("revoke", AS_AUD | {"token": token})
    assert (response.status_code, response.json()) == (200, INVALID)


def test_a_token_of_another_realm_is_no_token_here(wire: Wire) -> None:
    token = wire.token_request(realm="other").json()["access_token"]
    form = {"client_id": "svc", "client_secret": SECRET, "token": token}
    assert wire.post("revoke", form).json() == INVALID


ICC = "Invalid client or Invalid client credentials"
AS_BEARER_ONLY = {"client_id": "bear", "client_secret": SECRET}


@pytest.mark.parametrize(
    ("form", "status", "error", "text"),
    [
        ({}, 401, "invalid_client", ICC),
        ({"client_id": "aud"}, 401, "unauthorized_client", ICC),
        (AS_BEARER_ONLY, 400, "invalid_client", "Bearer-only not allowed"),
        (AS_AUD, 400, "invalid_request", "Token not provided"),
    ],
)
def test_a_refusal_has_its_documented_status_code_and_text(
    wire: Wire, form: dict[str, str], status: int, error: str, text: str
) -> None:
    response = wire.post("revoke", form)
    assert response.status_code == status
    assert response.json() == {"error": error, "error_description": text}


def test_a_repeated_parameter_is_refused(wire: Wire) -> None:
    response = wire.post("revoke", [*AS_AUD.items(), ("token", "x"), ("token", "x")])
    assert response.json()["error_description"] == "duplicated parameter"
