"""Refreshing, sessions, userinfo and logout, through the real nginx.

Spec: 2.1 (session settings); Keycloak: 1.7, 2.3, 2.4, 3, 12.3, 12.6, measured on 26.7.3
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import start_gateway, until
from tests.support.spec_stack import (
    ADMIN_PASSWORD,
    FACTOR,
    Stack,
    protocol,
    refusal,
    start_stack,
)
from tests.support.wire import PASSWORD, SECRET, claims_of

OVER = (400, "invalid_grant", "Session not active")
DETACHED = (400, "invalid_grant", "Session doesn't have required client")
REUSED = (400, "invalid_grant", "Maximum allowed refresh token reuse exceeded")
STALE = (400, "invalid_grant", "Stale token")
INVALID = (400, "invalid_grant", "Invalid refresh token")
GUESSES = 100


def test_a_refresh_keeps_the_session_and_old_tokens_stay_valid(
    spec: Stack,
) -> None:
    first = spec.signed_in(spec.fresh(), scope="openid")
    second = spec.refresh(first["refresh_token"])
    assert second.status_code == 200
    assert second.headers["Cache-Control"] == "no-store"
    document = second.json()
    assert list(document) == list(first)
    assert document["session_state"] == first["session_state"]
    assert document["scope"] == first["scope"]
    assert claims_of(document["access_token"])["jti"].startswith("onrtrt:")
    assert spec.refresh(first["refresh_token"]).status_code == 200


def test_an_invalid_refresh_token_gets_keycloaks_errors(
    spec: Stack,
) -> None:
    tokens = spec.signed_in(spec.fresh(), scope="openid")
    refresh = tokens["refresh_token"]
    tampered = refresh[:-8] + ("AAAAAAAA" if refresh[-8:] != "AAAAAAAA" else "BBBBBBBB")
    for token in ("x.y.z", tokens["access_token"], tokens["id_token"], tampered):
        assert refusal(spec.refresh(token)) == INVALID
    assert refusal(spec.refresh("")) == INVALID
    foreign = spec.signed_in(spec.fresh("limits"), "limits")["refresh_token"]
    assert refusal(spec.refresh(foreign)) == INVALID
    mismatch = "Invalid refresh token. Token client and authorized client don't match"
    other = spec.refresh(refresh, client_id="other-app")
    assert refusal(other) == (400, "invalid_grant", mismatch)
    unknown = spec.refresh(refresh, scope="x")
    assert refusal(unknown) == (400, "invalid_scope", "Invalid scopes: x")
    assert spec.refresh(refresh).status_code == 200


def test_a_refresh_narrows_the_scope_and_never_widens_it(spec: Stack) -> None:
    refresh = spec.signed_in(spec.fresh(), scope="openid phone")["refresh_token"]
    narrow = spec.refresh(refresh, scope="email").json()
    assert "phone" not in narrow["scope"].split()
    wide = spec.refresh(refresh, scope="openid address offline_access").json()
    assert not {"address", "offline_access"} & set(wide["scope"].split())


def test_a_rotated_token_works_once_and_reuse_ends_the_session(spec: Stack) -> None:
    first = spec.signed_in(spec.fresh("rotating"), "rotating")["refresh_token"]
    second = spec.refresh(first, "rotating").json()["refresh_token"]
    assert refusal(spec.refresh(first, "rotating")) in {REUSED, STALE}
    assert refusal(spec.refresh(first, "rotating")) in {OVER, DETACHED}
    assert refusal(spec.refresh(second, "rotating")) in {OVER, DETACHED}


def test_the_realm_may_allow_one_reuse(spec: Stack) -> None:
    first = spec.signed_in(spec.fresh("twice"), "twice")["refresh_token"]
    for _ in range(2):
        assert spec.refresh(first, "twice").status_code == 200
    assert refusal(spec.refresh(first, "twice")) in {REUSED, STALE}


@pytest.mark.parametrize(("realm", "winners"), [("rotating", 1), ("twice", 2)])
def test_of_100_parallel_refreshes_as_many_as_allowed_succeed(
    pair: Stack, realm: str, winners: int
) -> None:
    """attacks: C9."""
    first = pair.signed_in(pair.fresh(realm), realm)["refresh_token"]
    with ThreadPoolExecutor(25) as pool:
        answers = list(pool.map(lambda _: pair.refresh(first, realm), range(GUESSES)))
    won = [answer.json()["refresh_token"] for answer in answers if answer.status_code == 200]
    assert len(won) == winners
    lost = {refusal(answer) for answer in answers if answer.status_code != 200}
    assert lost <= {REUSED, STALE, OVER, DETACHED}
    assert lost & {REUSED, STALE}
    for token in (first, *won):
        assert refusal(pair.refresh(token, realm)) in {OVER, DETACHED}


def test_every_gateway_answered_some_of_it(pair: Stack) -> None:
    for _ in range(20):
        assert pair.sign_in("nobody").status_code == 400
    assert all('grant_type="password"' in one.metrics() for one in pair.gateways)


def test_an_ended_session_is_over_on_every_gateway_at_once(pair: Stack) -> None:
    tokens = pair.signed_in(pair.fresh(), scope="openid")
    assert pair.logout(tokens["refresh_token"]).status_code == 204
    for _ in range(8):
        assert refusal(pair.refresh(tokens["refresh_token"])) == OVER
        assert pair.userinfo(tokens["access_token"]).status_code == 401
        assert pair.introspect(tokens["access_token"]) == {"active": False}


def test_logout_says_what_is_wrong_and_may_be_repeated(spec: Stack) -> None:
    tokens = spec.signed_in(spec.fresh())
    refresh = tokens["refresh_token"]
    mismatch = "Invalid refresh token. Token client and authorized client don't match"
    other = spec.logout(refresh, client_id="other-app")
    assert refusal(other) == (400, "invalid_grant", mismatch)
    assert refusal(spec.logout("x")) == INVALID
    assert refusal(spec.logout(tokens["access_token"])) == INVALID
    client = (401, "invalid_client", "Invalid client or Invalid client credentials")
    assert refusal(spec.logout(refresh, client_id="x")) == client
    unauthorized = (401, "unauthorized_client", client[2])
    assert refusal(spec.logout(refresh, client_id="svc")) == unauthorized
    assert spec.refresh(refresh).status_code == 200
    assert spec.logout(refresh).status_code == 204
    again = spec.logout(refresh)
    assert (again.status_code, again.content) == (204, b"")
    assert refusal(spec.refresh(refresh)) == OVER


def test_a_logout_with_a_repeated_parameter_ends_no_session(spec: Stack) -> None:
    """RFC 6749 §3.2: two values of a parameter may be read differently on the way here."""
    refresh = spec.signed_in(spec.fresh())["refresh_token"]
    url = f"{spec.nginx.https}{protocol('spec')}/logout"
    form: dict[str, str | list[str]] = {"client_id": "app", "refresh_token": [refresh, refresh]}
    refused = spec.http.post(url, data=form)
    assert refusal(refused) == (400, "invalid_request", "duplicated parameter")
    assert spec.refresh(refresh).status_code == 200


def test_userinfo_tells_the_bearer_who_the_user_is(spec: Stack) -> None:
    tokens = spec.signed_in("alice", scope="openid")
    response = spec.userinfo(tokens["access_token"])
    assert response.status_code == 200
    assert response.json() == {
        "sub": claims_of(tokens["access_token"])["sub"],
        "email_verified": True,
        "name": "Ada Alice",
        "preferred_username": "alice",
        "given_name": "Ada",
        "family_name": "Alice",
        "email": "alice@example.test",
    }
    url = f"{spec.nginx.https}{protocol('spec')}/userinfo"
    posted = spec.http.post(url, data={"access_token": tokens["access_token"]})
    assert posted.json() == response.json()


def _challenge(response: httpx2.Response) -> tuple[int, str]:
    assert response.content == b""
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Content-Type"].replace(" ", "") == "text/plain;charset=utf-8"
    return response.status_code, response.headers["WWW-Authenticate"]


def test_userinfo_refuses_with_all_it_says_in_the_challenge(spec: Stack) -> None:
    url = f"{spec.nginx.https}{protocol('spec')}/userinfo"
    assert _challenge(spec.http.get(url)) == (401, 'Bearer realm="spec"')
    invalid = 'Bearer realm="spec", error="invalid_token", error_description='
    status, challenge = _challenge(spec.userinfo("abc"))
    assert (status, challenge) == (401, f'{invalid}"Token verification failed"')
    plain = spec.signed_in(spec.fresh())["access_token"]
    missing = 'Bearer realm="spec", error="insufficient_scope"'
    assert _challenge(spec.userinfo(plain)) == (
        403,
        f'{missing}, error_description="Missing openid scope"',
    )


def test_a_bound_token_is_worth_nothing_without_its_certificate(spec: Stack) -> None:
    form = {
        "grant_type": "password",
        "client_id": "bound-app",
        "client_secret": SECRET,
        "username": spec.fresh(),
        "password": PASSWORD,
        "scope": "openid",
    }
    mine, other = (spec.certificates.pair(name) for name in ("device-1", "device-2"))
    url = f"{spec.nginx.https}{protocol('spec')}/userinfo"
    with spec.nginx.client(mine) as http, spec.nginx.client(other) as stranger:
        tokens = spec.token("spec", form, http=http).json()
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        again = {
            "grant_type": "refresh_token",
            "client_id": "bound-app",
            "client_secret": SECRET,
            "refresh_token": tokens["refresh_token"],
        }
        text = "Client certificate missing, or its thumbprint and one in the token did NOT match"
        invalid = f'Bearer realm="spec", error="invalid_token", error_description="{text}"'
        for wrong in (stranger, spec.http):
            assert _challenge(wrong.get(url, headers=bearer)) == (401, invalid)
            refused = spec.token("spec", again, http=wrong)
            assert refusal(refused) == (401, "unauthorized_client", text)
        assert http.get(url, headers=bearer).status_code == 200
        assert spec.token("spec", again, http=http).status_code == 200


def test_guessing_a_password_ends_no_session_of_its_owner(spec: Stack) -> None:
    name = spec.fresh("guarded")
    tokens = spec.signed_in(name, "guarded", scope="openid")
    for _ in range(FACTOR):
        spec.sign_in(name, "x", "guarded")
    assert spec.sign_in(name, realm="guarded").status_code == 400
    assert spec.refresh(tokens["refresh_token"], "guarded").status_code == 200
    assert spec.userinfo(tokens["access_token"], "guarded").status_code == 200


def test_a_permanent_lock_out_ends_them(spec: Stack) -> None:
    name = spec.fresh("permanent")
    tokens = spec.signed_in(name, "permanent", scope="openid")
    for _ in range(FACTOR):
        spec.sign_in(name, "x", "permanent")
    token = tokens["refresh_token"]
    until(lambda: spec.refresh(token, "permanent").status_code == 400, "the session goes on")
    disabled = (400, "invalid_grant", "User disabled")
    assert refusal(spec.refresh(token, "permanent")) == disabled
    assert spec.userinfo(tokens["access_token"], "permanent").status_code == 401


@pytest.mark.parametrize(
    ("realm", "scope", "expires_in", "refresh_expires_in"),
    [
        pytest.param("limits", "", 61, 907, id="accessTokenLifespan, ssoSessionIdleTimeout"),
        pytest.param("limits", "offline_access", 61, 2592000, id="offlineSessionMaxLifespan"),
        pytest.param("parts", "", 202, 202, id="clientSessionMaxLifespan"),
        pytest.param(
            "offline-parts", "offline_access", 300, 404, id="clientOfflineSessionMaxLifespan"
        ),
        pytest.param("brief-max", "", 55, 55, id="ssoSessionMaxLifespan"),
        pytest.param("brief-idle", "", 300, 303, id="clientSessionIdleTimeout"),
        pytest.param(
            "brief-idle", "offline_access", 300, 505, id="clientOfflineSessionIdleTimeout"
        ),
        pytest.param("idle-offline", "offline_access", 300, 606, id="offlineSessionIdleTimeout"),
    ],
)
def test_each_session_setting_bounds_what_it_is_for(
    spec: Stack, realm: str, scope: str, expires_in: int, refresh_expires_in: int
) -> None:
    tokens = (
        spec.signed_in(spec.fresh(realm), realm, scope=scope)
        if scope
        else spec.signed_in(spec.fresh(realm), realm)
    )
    assert tokens["expires_in"] == expires_in
    assert tokens["refresh_expires_in"] == refresh_expires_in


def test_users_stay_signed_in_and_locked_out_over_a_restart(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    """attacks: C9."""
    with start_stack(tmp_path, edge_certificates) as stack:
        (gateway,) = stack.gateways
        online = stack.signed_in("user-0", scope="openid")
        offline = stack.signed_in("user-1", scope="offline_access")
        ended = stack.signed_in("user-2")
        first = stack.signed_in("user-0", "rotating")["refresh_token"]
        second = stack.refresh(first, "rotating").json()["refresh_token"]
        assert stack.logout(ended["refresh_token"]).status_code == 204
        for _ in range(FACTOR):
            stack.sign_in("user-0", "x", "guarded")
            stack.sign_in("user-0", "x", "permanent")
        before = stack.attack_status("user-0", "guarded")
        assert before["disabled"]
        gateway.stop()
        with start_gateway(
            tmp_path,
            state_dir=gateway.state_dir,
            public_url=stack.nginx.https,
            admin_password=ADMIN_PASSWORD,
        ):
            assert stack.userinfo(online["access_token"]).status_code == 200
            assert stack.refresh(online["refresh_token"]).status_code == 200
            assert stack.refresh(offline["refresh_token"]).status_code == 200
            assert refusal(stack.refresh(ended["refresh_token"])) == OVER
            assert stack.attack_status("user-0", "guarded") == before
            for realm in ("guarded", "permanent"):
                assert stack.sign_in("user-0", realm=realm).status_code == 400
            assert refusal(stack.refresh(first, "rotating")) in {REUSED, STALE}
            assert refusal(stack.refresh(second, "rotating")) in {OVER, DETACHED}
