"""A change of a realm's site reaches every gateway at once, in every worker."""

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

HOST = "wiki.example.test"
SITE: dict[str, Any] = {
    "name": "wiki",
    "hosts": [HOST],
    "rules": [{"name": "all", "paths": ["/*"], "anonymous": True}],
}
CLOSED = {**SITE, "rules": [{"name": "all", "paths": ["/*"]}]}
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

    def change(self, method: str, path: str = "", document: object = None) -> None:
        """Change something at the first gateway."""
        with self.first.client(Authorization=f"Bearer {self._token}") as http:
            url = f"/admin/realms/r{path}"
            assert http.request(method, url, json=document).is_success

    def status(self) -> int:
        """Ask the second gateway about the host on a new connection, which any worker accepts."""
        headers = {
            "X-Original-Request": "GET / HTTP/1.1",
            "X-Forwarded-Host": HOST,
            "X-Realmgate-Server": HOST,
            "Connection": "close",
        }
        with self.second.client() as http:
            return http.get("/.realmgate/guard/nginx", headers=headers).status_code


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder, server = tmp_path_factory.mktemp("pair"), RedisServer()
    (folder / "realm.json").write_text(json.dumps({"realm": "r", "enabled": True}))
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


def test_the_sites_of_a_removed_realm_are_refused_at_once(pair: Pair) -> None:
    pair.change("POST", "/guard/sites", SITE)
    _becomes(pair.status, httpx2.codes.OK)
    pair.change("DELETE")
    _becomes(pair.status, httpx2.codes.FORBIDDEN)
