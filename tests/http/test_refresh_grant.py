"""Refreshing: what keeps a session, and what ends it. Keycloak: 1.7, 2.4."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from tests.support.gateway_process import Gateway, start_gateway
from tests.support.tokens import assemble, claims_of, header_of
from tests.support.wire import CHEAP, PASSWORD, SECRET, Wire, app, protocol, user

LOGOUT = {"client_id": "app"}


def _refused(wire: Wire, token: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
    response = wire.refresh(token, form)
    return response.status_code, response.json()["error"], response.json()["error_description"]


def _logout(wire: Wire, token: str) -> int:
    form = LOGOUT | {"refresh_token": token}
    return wire.post("logout", form, realm="people").status_code


def test_a_refresh_gives_new_tokens_of_the_same_session(wire: Wire) -> None:
    first = wire.sign_in(form={"scope": "openid"}).json()
    second = wire.refresh(first["refresh_token"]).json()
    assert second["session_state"] == first["session_state"]
    assert second["scope"] == first["scope"]
    assert second["access_token"] != first["access_token"]
    assert claims_of(second["id_token"])["sub"] == claims_of(first["id_token"])["sub"]
    assert claims_of(second["access_token"])["jti"].startswith("onrtrt:")


def test_without_rotation_an_old_token_stays_good(wire: Wire) -> None:
    first = wire.sign_in().json()["refresh_token"]
    assert wire.refresh(first).status_code == 200
    assert wire.refresh(first).status_code == 200


def test_a_scope_can_be_narrowed_and_not_widened(wire: Wire) -> None:
    token = wire.sign_in(form={"scope": "openid"}).json()["refresh_token"]
    for scope in ("openid x", ""):
        unknown = _refused(wire, token, {"scope": scope})
        assert unknown == (400, "invalid_scope", f"Invalid scopes: {scope}")
    wider = wire.refresh(token, {"scope": "openid phone offline_access"}).json()
    assert sorted(wider["scope"].split()) == ["email", "openid", "profile"]
    assert claims_of(wider["refresh_token"])["typ"] == "Refresh"
    narrower = wire.refresh(token, {"scope": "email"}).json()
    assert "openid" not in narrower["scope"].split()


def test_a_narrower_scope_is_that_of_one_answer(wire: Wire) -> None:
    """RFC 6749 §6: the next refresh token has the scope of this one. Keycloak: 1.7."""
    first = wire.sign_in(form={"scope": "openid phone"}).json()
    narrower = wire.refresh(first["refresh_token"], {"scope": "email"}).json()
    assert sorted(narrower["scope"].split()) == ["email", "profile"]
    assert claims_of(narrower["access_token"])["scope"] == narrower["scope"]
    assert "id_token" in narrower
    again = wire.refresh(narrower["refresh_token"]).json()
    assert sorted(again["scope"].split()) == ["email", "openid", "phone", "profile"]


def test_what_is_no_refresh_token_is_refused(wire: Wire) -> None:
    document = wire.sign_in(form={"scope": "openid"}).json()
    invalid = (400, "invalid_grant", "Invalid refresh token")
    for token in ("", "garbage", "a.b.c", document["access_token"], document["id_token"]):
        assert _refused(wire, token) == invalid


def test_a_refresh_token_is_nothing_else(wire: Wire) -> None:
    """Attacks C15: token type confusion."""
    token = wire.sign_in().json()["refresh_token"]
    form = {"client_id": "svc", "client_secret": SECRET, "token": token}
    answer = wire.post("token/introspect", form, realm="people")
    assert answer.json() == {"active": False}
    userinfo = wire.get(protocol("people", "userinfo"), Authorization=f"Bearer {token}")
    assert userinfo.status_code == 401


def test_a_token_signed_by_nobody_is_refused(wire: Wire) -> None:
    genuine = wire.sign_in().json()["refresh_token"]
    forged = assemble(header_of(genuine), claims_of(genuine), lambda _: b"x" * 64)
    assert _refused(wire, forged) == (400, "invalid_grant", "Invalid refresh token")


def test_the_token_of_another_client_is_refused(wire: Wire) -> None:
    token = wire.sign_in().json()["refresh_token"]
    text = "Invalid refresh token. Token client and authorized client don't match"
    assert _refused(wire, token, {"client_id": "other-app"}) == (400, "invalid_grant", text)


def test_logout_ends_the_session_for_every_use_at_once(wire: Wire) -> None:
    document = wire.sign_in(form={"scope": "openid"}).json()
    access, refresh = document["access_token"], document["refresh_token"]
    userinfo = protocol("people", "userinfo")
    assert wire.get(userinfo, Authorization=f"Bearer {access}").status_code == 200
    assert _logout(wire, refresh) == 204
    assert _refused(wire, refresh) == (400, "invalid_grant", "Session not active")
    assert wire.get(userinfo, Authorization=f"Bearer {access}").status_code == 401
    assert _logout(wire, refresh) == 204


def test_logout_ends_an_offline_session_too(wire: Wire) -> None:
    refresh = wire.sign_in(form={"scope": "offline_access"}).json()["refresh_token"]
    assert _logout(wire, refresh) == 204
    assert _refused(wire, refresh) == (400, "invalid_grant", "Offline user session not found")


def test_logout_needs_a_refresh_token_of_the_caller(wire: Wire) -> None:
    document = wire.sign_in().json()
    assert _logout(wire, document["access_token"]) == 400
    form = {"client_id": "other-app", "refresh_token": document["refresh_token"]}
    assert wire.post("logout", form, realm="people").status_code == 400
    assert wire.refresh(document["refresh_token"]).status_code == 200


_ROTATING: Final = {
    "realm": "people",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "revokeRefreshToken": True,
    "refreshTokenMaxReuse": 0,
    "users": [user("alice")],
    "clients": [app("app")],
}


@pytest.fixture(scope="module")
def rotating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """Run two workers for a realm whose refresh tokens rotate."""
    folder = tmp_path_factory.mktemp("rotating")
    (folder / "realms.json").write_text(json.dumps(_ROTATING))
    with (
        start_gateway(folder, import_realm=folder / "realms.json", workers=2) as gateway,
        gateway.client() as http,
    ):
        yield Wire(gateway, http, {})


def test_a_rotated_token_works_once_and_reuse_ends_the_session(rotating: Wire) -> None:
    """RFC 9700 §4.14; attacks C9. The session lasts without the client, as in Keycloak (26.7)."""
    first = rotating.sign_in().json()["refresh_token"]
    second = rotating.refresh(first).json()["refresh_token"]
    reused = _refused(rotating, first)
    assert reused == (400, "invalid_grant", "Maximum allowed refresh token reuse exceeded")
    detached = (400, "invalid_grant", "Session doesn't have required client")
    for token in (first, second):
        assert _refused(rotating, token) == detached
    assert _logout(rotating, second) == 400, "a stolen token ends no session"
    assert _refused(rotating, second) == detached


def test_a_reuse_within_the_second_of_the_rotation_is_one_too(rotating: Wire) -> None:
    """attacks: C9. The instants of tokens are whole seconds: they do not tell which is newer."""
    for _ in range(20):
        first = rotating.sign_in().json()["refresh_token"]
        second = rotating.refresh(first).json()["refresh_token"]
        if claims_of(first)["iat"] == claims_of(second)["iat"]:
            break
    else:
        pytest.fail("no rotation in the second of the sign-in")
    assert _refused(rotating, first)[2] == "Maximum allowed refresh token reuse exceeded"
    assert _refused(rotating, second)[2] == "Session doesn't have required client"


def test_a_token_retired_long_ago_is_stale(rotating: Wire) -> None:
    first = rotating.sign_in().json()["refresh_token"]
    second = rotating.refresh(first).json()["refresh_token"]
    assert rotating.refresh(second).status_code == 200
    assert _refused(rotating, first) == (400, "invalid_grant", "Stale token")


def _used_at_once(gateway: Gateway, token: str) -> list[str]:
    """Use a token a hundred times at once; return the refresh tokens that were issued for it."""
    barrier = threading.Barrier(20)
    form = {"grant_type": "refresh_token", "client_id": "app", "refresh_token": token}

    def use(_: int) -> list[str]:
        issued = []
        barrier.wait(10)
        for _ in range(5):
            with gateway.client() as http:
                answer = http.post(protocol("people", "token"), data=form)
            if answer.status_code == 200:
                issued.append(answer.json()["refresh_token"])
        return issued

    with ThreadPoolExecutor(20) as pool:
        return [token for issued in pool.map(use, range(20)) for token in issued]


def test_of_a_hundred_at_once_one_wins(rotating: Wire) -> None:
    """Attacks C9, S7."""
    token = rotating.sign_in().json()["refresh_token"]
    assert len(_used_at_once(rotating.gateway, token)) == 1


def test_a_restart_forgives_no_reuse(tmp_path: Path) -> None:
    """attacks: C9. A family that ended stays ended, and a token that was used stays used."""
    (tmp_path / "realms.json").write_text(json.dumps(_ROTATING))
    with (
        start_gateway(tmp_path, import_realm=tmp_path / "realms.json", workers=2) as gateway,
        gateway.client() as http,
    ):
        before = Wire(gateway, http, {})
        ended = before.sign_in().json()["refresh_token"]
        (winner,) = _used_at_once(gateway, ended)
        used = before.sign_in().json()["refresh_token"]
        successor = before.refresh(used).json()["refresh_token"]
        gateway.stop()
    with start_gateway(tmp_path, workers=2) as gateway, gateway.client() as http:
        after = Wire(gateway, http, {})
        for token in (ended, winner):
            assert _refused(after, token)[2] == "Session doesn't have required client"
        assert _refused(after, used)[2] == "Maximum allowed refresh token reuse exceeded"
        assert _refused(after, successor)[2] == "Session doesn't have required client"


def test_users_stay_signed_in_over_a_restart(tmp_path: Path) -> None:
    realm = {
        "realm": "people",
        "enabled": True,
        "passwordPolicy": CHEAP,
        "users": [user("alice")],
        "clients": [app("app")],
    }
    (tmp_path / "realms.json").write_text(json.dumps(realm))
    form = {"grant_type": "password", "client_id": "app", "username": "alice", "password": PASSWORD}
    with (
        start_gateway(tmp_path, import_realm=tmp_path / "realms.json") as gateway,
        gateway.client() as http,
    ):
        signed_in = http.post(protocol("people", "token"), data=form).json()
    again = {
        "grant_type": "refresh_token",
        "client_id": "app",
        "refresh_token": signed_in["refresh_token"],
    }
    with start_gateway(tmp_path) as gateway, gateway.client() as http:
        assert http.post(protocol("people", "token"), data=again).status_code == 200
