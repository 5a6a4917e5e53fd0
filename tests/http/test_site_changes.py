"""A change of the realm reaches every decision within a second, in every worker."""

import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.support.protected_sites import Protected
from tests.support.wire import PASSWORD

_SECOND = 1.0
_IN_A_ROW = 20
"""Refusals without a pass between them: enough for each worker to have answered."""


def _refused_within_a_second(ask: Callable[[], httpx2.Response], status: int) -> None:
    """Assert that no request that is sent a second from now, or later, passes."""
    changed_at = time.monotonic()
    last_passed_at, refused = changed_at, 0
    while refused < _IN_A_ROW:
        sent_at = time.monotonic()
        found = ask().status_code
        if found == status:
            refused += 1
        else:
            assert found == 200
            last_passed_at, refused = sent_at, 0
            assert last_passed_at < changed_at + _SECOND


class _Realm:
    """The realm `staff` and its administrator."""

    def __init__(self, protected: Protected) -> None:
        self._protected = protected

    def call(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        administration = self._protected.administration
        response = administration.http.request(
            method,
            f"/admin/realms/staff{path}",
            json=body,
            headers={"Authorization": f"Bearer {administration.token()}"},
        )
        assert response.is_success, response.text
        return response

    def user(self, username: str) -> str:
        """Return the id of a user."""
        (found,) = self.call("GET", f"/users?username={username}&exact=true").json()
        return str(found["id"])


@pytest.fixture
def realm(protected: Protected) -> _Realm:
    """Return the administered realm."""
    return _Realm(protected)


def _signed_in(protected: Protected, username: str) -> Callable[[], httpx2.Response]:
    """Return a request of a user that passes now."""
    token = protected.token(username)["access_token"]

    def ask() -> httpx2.Response:
        return protected.ask("/admin", token=token)

    assert ask().status_code == 200
    return ask


@pytest.mark.parametrize(
    ("username", "change"),
    [("changed-8", "logout"), ("changed-9", "disable"), ("changed-10", "role")],
)
def test_a_browser_whose_user_was_changed(
    protected: Protected, realm: _Realm, username: str, change: str
) -> None:
    cookie = {"Cookie": protected.browser_session(username)}

    def ask() -> httpx2.Response:
        return protected.ask("/admin", headers=cookie)

    assert ask().status_code == 200
    user = realm.user(username)
    match change:
        case "logout":
            realm.call("POST", f"/users/{user}/logout")
        case "disable":
            realm.call("PUT", f"/users/{user}", {"enabled": False})
        case _:
            role = realm.call("GET", "/roles/admin").json()
            realm.call("DELETE", f"/users/{user}/role-mappings/realm", [role])
    _refused_within_a_second(ask, 403 if change == "role" else 401)


def test_a_disabled_user(protected: Protected, realm: _Realm) -> None:
    ask = _signed_in(protected, "changed-0")
    realm.call("PUT", f"/users/{realm.user('changed-0')}", {"enabled": False})
    _refused_within_a_second(ask, 401)


def test_a_deleted_user(protected: Protected, realm: _Realm) -> None:
    ask = _signed_in(protected, "changed-1")
    realm.call("DELETE", f"/users/{realm.user('changed-1')}")
    _refused_within_a_second(ask, 401)


def test_a_removed_role(protected: Protected, realm: _Realm) -> None:
    ask = _signed_in(protected, "changed-2")
    role = realm.call("GET", "/roles/admin").json()
    path = f"/users/{realm.user('changed-2')}/role-mappings/realm"
    realm.call("DELETE", path, [role])
    _refused_within_a_second(ask, 403)


def test_an_ended_session(protected: Protected, realm: _Realm) -> None:
    ask = _signed_in(protected, "changed-3")
    realm.call("POST", f"/users/{realm.user('changed-3')}/logout")
    _refused_within_a_second(ask, 401)


def test_a_revoked_token(protected: Protected) -> None:
    token = protected.token("changed-4")["access_token"]
    assert protected.ask("/admin", token=token).status_code == 200
    with protected.gateway.client() as http:
        revoked = http.post(
            "/realms/staff/protocol/openid-connect/revoke",
            data={"client_id": "portal", "token": token},
        )
    assert revoked.status_code == 200
    _refused_within_a_second(lambda: protected.ask("/admin", token=token), 401)


def test_a_temporary_lock_out_ends_nothing(protected: Protected) -> None:
    """Otherwise a stranger could sign users out by guessing."""
    ask = _signed_in(protected, "changed-5")
    form = {"grant_type": "password", "client_id": "portal", "username": "changed-5"}
    with protected.gateway.client() as http:
        for _ in range(3):
            url = "/realms/staff/protocol/openid-connect/token"
            http.post(url, data=form | {"password": "wrong"})
        refused = http.post(url, data=form | {"password": PASSWORD})
    assert refused.status_code == 400
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert ask().status_code == 200


def test_a_disabled_client(protected: Protected, realm: _Realm) -> None:
    token = protected.client_token()
    assert protected.ask("/jobs/1", token=token).status_code == 200
    (found,) = realm.call("GET", "/clients?clientId=worker").json()
    realm.call("PUT", f"/clients/{found['id']}", {"clientId": "worker", "enabled": False})
    try:
        _refused_within_a_second(lambda: protected.ask("/jobs/1", token=token), 401)
    finally:
        realm.call("PUT", f"/clients/{found['id']}", {"clientId": "worker", "enabled": True})


def test_a_disabled_realm(protected: Protected, realm: _Realm) -> None:
    ask = _signed_in(protected, "changed-6")
    realm.call("PUT", "", {"enabled": False})
    try:
        _refused_within_a_second(ask, 401)
    finally:
        realm.call("PUT", "", {"enabled": True})


def test_a_new_not_before(protected: Protected, realm: _Realm) -> None:
    ask = _signed_in(protected, "changed-7")
    realm.call("PUT", "", {"notBefore": int(time.time()) + 1})
    try:
        _refused_within_a_second(ask, 401)
    finally:
        realm.call("PUT", "", {"notBefore": 0})
