"""A change at one gateway counts at the sites of every other, in every worker."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.gateway_process import Gateway, start_gateway
from tests.support.redis_server import RedisServer
from tests.support.wire import CHEAP, PASSWORD, SECRET, app, client, protocol, user

HOST = "wiki.example.test"
SITE: dict[str, Any] = {
    "name": "wiki",
    "hosts": [HOST],
    "rules": [{"name": "all", "paths": ["/*"], "anonymous": True}],
}
CLOSED = {**SITE, "rules": [{"name": "all", "paths": ["/*"]}]}
REPORTS = "reports.example.test"
_REALM: dict[str, Any] = {
    "realm": "r",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "roles": {"realm": [{"name": "reader"}]},
    "clients": [app("portal"), client("worker")],
    "users": [user(name, realmRoles=["reader"]) for name in ("ada", "bob", "cora")],
    "guardSites": [
        {
            "name": "reports",
            "hosts": [REPORTS],
            "bearerAudience": "any",
            "rules": [
                {"name": "jobs", "paths": ["/jobs"], "clients": ["worker"]},
                {"name": "all", "paths": ["/*"], "realmRoles": ["reader"]},
            ],
        }
    ],
}
_WORKERS = 2
_IN_A_ROW = 10
"""The same answer without another between them: enough for each worker to have answered."""


class Pair:
    """Two gateways on the same stores."""

    def __init__(self, first: Gateway, second: Gateway) -> None:
        self.first, self.second = first, second
        with first.client() as http:
            form = {
                "grant_type": "password",
                "client_id": "admin-cli",
                "username": "admin",
                "password": "the administrator's word",
            }
            answer = http.post("/realms/master/protocol/openid-connect/token", data=form)
        assert answer.is_success, answer.text
        self._token = answer.json()["access_token"]

    def token(self, **form: str) -> str:
        """Return an access token of the realm, by the first gateway."""
        with self.first.client() as http:
            answer = http.post(protocol("r", "token"), data=form)
        assert answer.is_success, answer.text
        return str(answer.json()["access_token"])

    def user_token(self, username: str) -> str:
        """Return an access token of a user."""
        return self.token(
            grant_type="password", client_id="portal", username=username, password=PASSWORD
        )

    def get(self, path: str) -> Any:
        """Return a document of the first gateway."""
        with self.first.client(Authorization=f"Bearer {self._token}") as http:
            return http.get(f"/admin/realms/r{path}").json()

    def change(self, method: str, path: str = "", document: object = None) -> None:
        """Change something at the first gateway."""
        with self.first.client(Authorization=f"Bearer {self._token}") as http:
            url = f"/admin/realms/r{path}"
            assert http.request(method, url, json=document).is_success

    def status(self, host: str = HOST, path: str = "/", token: str = "") -> int:
        """Ask the second gateway about a host on a new connection, which any worker accepts."""
        headers = {
            "X-Original-Request": f"GET {path} HTTP/1.1",
            "X-Forwarded-Host": host,
            "X-Realmgate-Server": host,
            "Connection": "close",
        }
        if token:
            headers["Authorization"] = f"Bearer {token}"
        with self.second.client() as http:
            return http.get("/.realmgate/guard/nginx", headers=headers).status_code


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder, server = tmp_path_factory.mktemp("pair"), RedisServer()
    (folder / "realm.json").write_text(json.dumps(_REALM))
    shared: dict[str, Any] = {
        "database_url": f"sqlite:///{folder}/shared.db",
        "encryption_key_file": folder / "encryption.key",
        "redis_url": server.url.reveal(),
        "import_realm": folder / "realm.json",
    }
    with ExitStack() as stack:
        stack.callback(server.remove)
        server.start()

        def start(name: str, **settings: Any) -> Gateway:
            home: Path = folder / name
            home.mkdir()
            return stack.enter_context(start_gateway(home, **shared, **settings))

        yield Pair(start("one"), start("two", workers=_WORKERS))


def _becomes(ask: Callable[[], int], status: int) -> None:
    """Assert that every answer is `status` from a second on; it takes milliseconds."""
    changed_at, same = time.monotonic(), 0
    while same < _IN_A_ROW:
        asked_at = time.monotonic()
        same = same + 1 if ask() == status else 0
        assert same or asked_at < changed_at + 1


def test_a_change_at_one_gateway_counts_at_the_other(pair: Pair) -> None:
    _becomes(pair.status, httpx2.codes.FORBIDDEN)
    pair.change("POST", "/guard/sites", SITE)
    _becomes(pair.status, httpx2.codes.OK)
    pair.change("PUT", "/guard/sites/wiki", CLOSED)
    _becomes(pair.status, httpx2.codes.UNAUTHORIZED)
    pair.change("PUT", "/guard/sites/wiki", SITE)
    _becomes(pair.status, httpx2.codes.OK)
    pair.change("DELETE", "/guard/sites/wiki")
    _becomes(pair.status, httpx2.codes.FORBIDDEN)


def _passes_at_the_other(pair: Pair, token: str, path: str = "/") -> Callable[[], int]:
    """Return a request that passes now, and whose answer each worker has remembered."""

    def ask() -> int:
        return pair.status(REPORTS, path, token)

    _becomes(ask, httpx2.codes.OK)
    return ask


def test_a_token_revoked_at_one_gateway_is_refused_at_the_other(pair: Pair) -> None:
    token = pair.user_token("ada")
    ask = _passes_at_the_other(pair, token)
    with pair.first.client() as http:
        form = {"client_id": "portal", "token": token}
        assert http.post(protocol("r", "revoke"), data=form).is_success
    _becomes(ask, httpx2.codes.UNAUTHORIZED)


def test_a_role_removed_at_one_gateway_is_missing_at_the_other(pair: Pair) -> None:
    ask = _passes_at_the_other(pair, pair.user_token("bob"))
    (found,) = pair.get("/users?username=bob&exact=true")
    path = f"/users/{found['id']}/role-mappings/realm"
    pair.change("DELETE", path, [pair.get("/roles/reader")])
    _becomes(ask, httpx2.codes.FORBIDDEN)


def test_a_user_disabled_at_one_gateway_is_refused_at_the_other(pair: Pair) -> None:
    ask = _passes_at_the_other(pair, pair.user_token("cora"))
    (found,) = pair.get("/users?username=cora&exact=true")
    pair.change("PUT", f"/users/{found['id']}", {"enabled": False})
    _becomes(ask, httpx2.codes.UNAUTHORIZED)


def test_a_client_disabled_at_one_gateway_is_refused_elsewhere(pair: Pair) -> None:
    form = {"grant_type": "client_credentials", "client_id": "worker", "client_secret": SECRET}
    ask = _passes_at_the_other(pair, pair.token(**form), "/jobs")
    (found,) = pair.get("/clients?clientId=worker")
    pair.change("PUT", f"/clients/{found['id']}", {"clientId": "worker", "enabled": False})
    _becomes(ask, httpx2.codes.UNAUTHORIZED)


def test_the_sites_of_a_removed_realm_are_refused_at_once(pair: Pair) -> None:
    pair.change("POST", "/guard/sites", SITE)
    _becomes(pair.status, httpx2.codes.OK)
    pair.change("DELETE")
    _becomes(pair.status, httpx2.codes.FORBIDDEN)
