"""Userinfo: claims for a token that holds, a challenge else. Keycloak: 12.3; RFC 6750 §3."""

import httpx2
import pytest

from tests.support.wire import SECRET, Wire, protocol

PATH = protocol("people", "userinfo")


def _ask(wire: Wire, token: str | None, **headers: str) -> httpx2.Response:
    sent = {} if token is None else {"Authorization": f"Bearer {token}"}
    return wire.get(PATH, **sent, **headers)


def _token(wire: Wire, scope: str = "openid") -> str:
    return str(wire.sign_in(form={"scope": scope}).json()["access_token"])


def test_it_tells_what_the_scopes_allow(wire: Wire) -> None:
    claims = _ask(wire, _token(wire)).json()
    subject = claims.pop("sub")
    assert len(subject) == 36
    assert claims == {
        "email_verified": True,
        "name": "Ada Alice",
        "preferred_username": "alice",
        "given_name": "Ada",
        "family_name": "Alice",
        "email": "alice@example.test",
    }


def test_the_token_may_come_in_a_form(wire: Wire) -> None:
    response = wire.post("userinfo", {"access_token": _token(wire)}, realm="people")
    assert response.json()["preferred_username"] == "alice"


@pytest.mark.parametrize("token", ["garbage", "a.b.c"])
def test_a_bad_token_gets_an_empty_challenge(wire: Wire, token: str) -> None:
    response = _ask(wire, token)
    assert (response.status_code, response.content) == (401, b"")
    assert response.headers["www-authenticate"] == (
        'Bearer realm="people", error="invalid_token", '
        'error_description="Token verification failed"'
    )
    assert response.headers["x-frame-options"] == "SAMEORIGIN"


def test_no_token_gets_the_plain_challenge(wire: Wire) -> None:
    response = _ask(wire, None)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == 'Bearer realm="people"'


def test_a_token_without_openid_is_not_enough(wire: Wire) -> None:
    response = _ask(wire, str(wire.sign_in().json()["access_token"]))
    assert response.status_code == 403
    assert 'error="insufficient_scope"' in response.headers["www-authenticate"]


def test_a_bound_token_needs_its_certificate(wire: Wire) -> None:
    """RFC 8705 §3; attacks A19."""
    form = {"client_id": "bound-app", "client_secret": SECRET, "scope": "openid"}
    token = wire.sign_in(form=form, certificate="device-1").json()["access_token"]
    certificates = {
        name: {"ssl-client-cert": wire.certificates[name], "ssl-client-verify": "SUCCESS"}
        for name in ("device-1", "device-2")
    }
    bearer = {"Authorization": f"Bearer {token}"}
    assert wire.http.get(PATH, headers=bearer | certificates["device-1"]).status_code == 200
    assert wire.http.get(PATH, headers=bearer | certificates["device-2"]).status_code == 401
    assert wire.http.get(PATH, headers=bearer).status_code == 401


def test_a_lightweight_token_is_refused(wire: Wire) -> None:
    """Keycloak: a token that names no subject is for introspection only."""
    signed_in = wire.sign_in(form={"client_id": "light", "scope": "openid"})
    response = _ask(wire, str(signed_in.json()["access_token"]))
    assert (response.status_code, response.content) == (401, b"")
    text = 'error_description="Lightweight access token not allowed for userinfo endpoint"'
    assert text in response.headers["www-authenticate"]
