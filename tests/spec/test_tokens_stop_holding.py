"""A token stops holding when what it rests on is gone: notBefore, client, role, certificate."""

import time
from typing import Any

import httpx2
import pytest

from tests.support.gateway_process import until
from tests.support.spec_stack import Stack, protocol, refusal
from tests.support.wire import PASSWORD, SECRET, app, audience, claims_of

MISMATCH = "Client certificate missing, or its thumbprint and one in the token did NOT match"


def post(spec: Stack, path: str, document: object = None) -> httpx2.Response:
    """POST to the admin API, as the administrator."""
    return spec.http.post(
        f"{spec.nginx.https}/admin/realms/{path}",
        json=document,
        headers={"Authorization": f"Bearer {spec.administrator()}"},
    )


def wait_for_next_second(token: str) -> None:
    """Wait until notBefore, which counts seconds, can be later than the token."""
    issued_at = int(claims_of(token)["iat"])
    until(lambda: time.time() >= issued_at + 1, "the clock stands still")


@pytest.fixture(scope="module")
def own_client(spec: Stack) -> str:
    """Create a client that introspection and userinfo know of; return its internal id."""
    document = app("short-lived") | {"protocolMappers": [audience("svc")]}
    created = post(spec, "spec/clients", document)
    assert created.status_code == 201, created.text
    return str(created.headers["location"]).rpartition("/")[2]


def test_a_logout_of_a_user_ends_offline_refreshes(spec: Stack) -> None:
    """Keycloak rejects the token by the user's notBefore; here the session has ended too."""
    name = spec.fresh()
    tokens = spec.signed_in(name, scope="openid offline_access")
    wait_for_next_second(tokens["refresh_token"])
    assert post(spec, f"spec/users/{spec.id_of(name)}/logout").status_code == 204
    refused = spec.refresh(tokens["refresh_token"])
    assert refusal(refused) == (400, "invalid_grant", "Offline user session not found")
    assert spec.userinfo(tokens["access_token"]).status_code == 401
    later = spec.signed_in(name, scope="openid offline_access")
    assert spec.refresh(later["refresh_token"]).status_code == 200


def test_no_token_of_a_disabled_client_holds(spec: Stack, own_client: str) -> None:
    form = {
        "grant_type": "password",
        "client_id": "short-lived",
        "username": spec.fresh(),
        "password": PASSWORD,
        "scope": "openid",
    }
    tokens: dict[str, Any] = spec.token("spec", form).json()
    access = tokens["access_token"]
    assert spec.userinfo(access).status_code == 200
    assert spec.introspect(access)["active"] is True
    assert spec.put(f"spec/clients/{own_client}", {"enabled": False}).status_code == 204
    assert spec.userinfo(access).status_code == 401
    assert spec.introspect(access) == {"active": False}
    again = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    refused = spec.token("spec", again | {"client_id": "short-lived"})
    assert refusal(refused)[:2] == (401, "invalid_client")


def test_an_offline_refresh_needs_the_role_offline_access(spec: Stack) -> None:
    name = spec.fresh()
    tokens = spec.signed_in(name, scope="openid offline_access")
    assert spec.refresh(tokens["refresh_token"]).status_code == 200
    path = f"spec/users/{spec.id_of(name)}/role-mappings/realm"
    granted = spec.ask(path).json()
    assert [role["name"] for role in granted] == ["default-roles-spec"]
    taken = spec.http.request(
        "DELETE",
        f"{spec.nginx.https}/admin/realms/{path}",
        json=granted,
        headers={"Authorization": f"Bearer {spec.administrator()}"},
    )
    assert taken.status_code == 204
    text = "Offline session invalid because offline access not granted anymore"
    refused = spec.refresh(tokens["refresh_token"])
    assert refusal(refused) == (400, "invalid_grant", text)


def test_a_logout_needs_the_certificate_of_its_token(spec: Stack) -> None:
    form = {
        "grant_type": "password",
        "client_id": "bound-app",
        "client_secret": SECRET,
        "username": spec.fresh(),
        "password": PASSWORD,
    }
    mine, other = (spec.certificates.pair(name) for name in ("device-1", "device-2"))
    with spec.nginx.client(mine) as http, spec.nginx.client(other) as stranger:
        token = spec.token("spec", form, http=http).json()["refresh_token"]
        leaving = {"client_id": "bound-app", "client_secret": SECRET, "refresh_token": token}
        url = f"{spec.nginx.https}{protocol('spec')}/logout"
        for wrong in (stranger, spec.http):
            refused = wrong.post(url, data=leaving)
            assert refusal(refused) == (401, "unauthorized_client", MISMATCH)
        again = {"grant_type": "refresh_token", **leaving}
        assert spec.token("spec", again, http=http).status_code == 200
        assert http.post(url, data=leaving).status_code == 204
        assert spec.token("spec", again, http=http).status_code == 400


def test_a_token_older_than_the_required_certificate_is_refused(spec: Stack) -> None:
    """RFC 8705 §3: the sender of an unbound refresh token must not bind it to its own certificate.

    Keycloak: tls.client.certificate.bound.access.tokens (26.7)
    """
    document = app("bound-later", publicClient=False, secret=SECRET)
    assert post(spec, "spec/clients", document).status_code == 201
    form = {"client_id": "bound-later", "client_secret": SECRET}
    asked = {"grant_type": "password", "username": spec.fresh(), "password": PASSWORD}
    tokens = spec.token("spec", form | asked | {"scope": "openid"}).json()
    assert spec.userinfo(tokens["access_token"]).status_code == 200
    (found,) = spec.ask("spec/clients", clientId="bound-later").json()
    attributes = found["attributes"] | {"tls.client.certificate.bound.access.tokens": "true"}
    changed = spec.put(f"spec/clients/{found['id']}", found | {"attributes": attributes})
    assert changed.status_code == 204
    again = form | {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    url = f"{spec.nginx.https}{protocol('spec')}/userinfo"
    challenge = f'Bearer realm="spec", error="invalid_token", error_description="{MISMATCH}"'
    with spec.nginx.client(spec.certificates.pair("device-2")) as thief:
        for sender in (thief, spec.http):
            refused = spec.token("spec", again, http=sender)
            assert refusal(refused) == (401, "unauthorized_client", MISMATCH)
            challenged = sender.get(url, headers=bearer)
            assert challenged.status_code == 401
            assert challenged.headers["WWW-Authenticate"] == challenge
    # Revoking them harms no one.
    revoked = form | {"token": tokens["refresh_token"]}
    revoke = f"{spec.nginx.https}{protocol('spec')}/revoke"
    assert spec.http.post(revoke, data=revoked).status_code == 200
