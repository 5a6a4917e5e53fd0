"""A live token or cookie of a protected site ends with its user on every gateway.

Two gateways share their stores. The second one, in each of its workers, has verified the credential
before the first one learns of the change. attacks: B8
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from tests.support.gateway_process import Gateway, start_gateway
from tests.support.redis_server import RedisServer
from tests.support.site_sessions import store_site_session
from tests.support.wire import CHEAP, PASSWORD, app, claims_of, user

_HOST: Final = "wiki.example.test"
_REALM: Final = "wiki"
_SITE: Final = {
    "name": "wiki",
    "hosts": [_HOST],
    "client": "portal",
    "bearerAudience": "any",
    "rules": [{"name": "all", "paths": ["/*"]}],
}
_WORKERS: Final = 2
_IN_A_ROW: Final = 10
"""The same answer of a gateway without another between: enough for each worker to have answered."""
_SECOND: Final = 1.0
_CREDENTIALS: Final = ("token", "cookie")
_TOKEN: Final = f"/realms/{_REALM}/protocol/openid-connect/token"


@dataclass(frozen=True, slots=True)
class Gateways:
    """Two gateways on the same stores, and the administrator at the first one."""

    first: Gateway
    second: Gateway
    redis: RedisServer
    administrator: str

    def call(self, method: str, path: str, document: object = None) -> httpx2.Response:
        """Send a request to the admin API of the realm."""
        with self.first.client(Authorization=f"Bearer {self.administrator}") as http:
            response = http.request(method, f"/admin/realms/{_REALM}{path}", json=document)
        assert response.is_success, response.text
        return response

    def sign_in(self, username: str, password: str = PASSWORD) -> httpx2.Response:
        """Ask the first gateway for tokens of a user."""
        form = {"grant_type": "password", "client_id": "portal", "username": username}
        with self.first.client() as http:
            return http.post(_TOKEN, data=form | {"password": password})

    def credential(self, kind: str, username: str) -> dict[str, str]:
        """Return the header of a user who has signed in."""
        token = self.sign_in(username).json()["access_token"]
        if kind == "token":
            return {"Authorization": f"Bearer {token}"}
        realm_id = self.call("GET", "").json()["id"]
        return {"Cookie": store_site_session(self.redis.url, "wiki", realm_id, claims_of(token))}

    def id_of(self, path: str) -> str:
        """Return the id of the only object that a search finds."""
        (found,) = self.call("GET", path).json()
        return str(found["id"])

    def is_refused_within_a_second(self, credential: dict[str, str]) -> None:
        """Assert that no gateway lets a request pass that is sent a second from now."""
        changed_at = time.monotonic()
        for gateway in (self.second, self.first):
            refused = 0
            while refused < _IN_A_ROW:
                asked_at = time.monotonic()
                status = decide(gateway, credential)
                refused = refused + 1 if status == HTTPStatus.UNAUTHORIZED else 0
                assert refused or asked_at < changed_at + _SECOND, status


def decide(gateway: Gateway, credential: dict[str, str]) -> int:
    """Ask about a request on a new connection, which any worker accepts."""
    headers = {
        "X-Original-Request": "GET / HTTP/1.1",
        "X-Forwarded-Host": _HOST,
        "X-Forwarded-Proto": "https",
        "X-Realmgate-Server": _HOST,
        "Connection": "close",
    }
    with gateway.client() as http:
        return http.get("/.realmgate/guard/nginx", headers=headers | credential).status_code


@contextmanager
def permanent_lock_out(gateways: Gateways, username: str) -> Iterator[None]:
    for _ in range(3):
        assert gateways.sign_in(username, "wrong").is_client_error
    yield


@contextmanager
def disabled_user(gateways: Gateways, username: str) -> Iterator[None]:
    user_id = gateways.id_of(f"/users?username={username}&exact=true")
    gateways.call("PUT", f"/users/{user_id}", {"enabled": False})
    yield


@contextmanager
def logout(gateways: Gateways, username: str) -> Iterator[None]:
    user_id = gateways.id_of(f"/users?username={username}&exact=true")
    gateways.call("POST", f"/users/{user_id}/logout")
    yield


@contextmanager
def disabled_client(gateways: Gateways, username: str) -> Iterator[None]:  # noqa: ARG001 - of all
    path = f"/clients/{gateways.id_of('/clients?clientId=portal')}"
    gateways.call("PUT", path, {"clientId": "portal", "enabled": False})
    yield
    gateways.call("PUT", path, {"clientId": "portal", "enabled": True})


@contextmanager
def disabled_realm(gateways: Gateways, username: str) -> Iterator[None]:  # noqa: ARG001 - of all
    gateways.call("PUT", "", {"enabled": False})
    yield
    gateways.call("PUT", "", {"enabled": True})


@contextmanager
def not_before(gateways: Gateways, username: str) -> Iterator[None]:  # noqa: ARG001 - of all
    gateways.call("PUT", "", {"notBefore": int(time.time()) + 1})
    yield
    gateways.call("PUT", "", {"notBefore": 0})


_CHANGES: Final[tuple[Callable[[Gateways, str], Any], ...]] = (
    *(permanent_lock_out, disabled_user, logout, disabled_client, disabled_realm, not_before),
)


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateways]:
    folder, redis = tmp_path_factory.mktemp("gateways"), RedisServer()
    realm = {
        "realm": _REALM,
        "enabled": True,
        "sslRequired": "none",
        "passwordPolicy": CHEAP,
        "bruteForceProtected": True,
        "failureFactor": 2,
        "permanentLockout": True,
        "quickLoginCheckMilliSeconds": 0,
        "clients": [app("portal")],
        "users": [
            user(f"{change.__name__}-{kind}") for change in _CHANGES for kind in _CREDENTIALS
        ],
    }
    (folder / "realm.json").write_text(json.dumps(realm))
    shared: dict[str, Any] = {
        "database_url": f"sqlite:///{folder}/shared.db",
        "encryption_key_file": folder / "encryption.key",
        "redis_url": redis.url.reveal(),
        "import_realm": folder / "realm.json",
    }
    with ExitStack() as stack:
        stack.callback(redis.remove)
        redis.start()

        def start(name: str, **settings: Any) -> Gateway:
            home: Path = folder / name
            home.mkdir()
            return stack.enter_context(start_gateway(home, **shared, **settings))

        first, second = start("one"), start("two", workers=_WORKERS)
        with first.client() as http:
            form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin"}
            answer = http.post(
                "/realms/master/protocol/openid-connect/token",
                data=form | {"password": "the administrator's word"},
            )
        running = Gateways(first, second, redis, answer.json()["access_token"])
        running.call("POST", "/guard/sites", _SITE)
        yield running


@pytest.mark.parametrize("kind", _CREDENTIALS)
@pytest.mark.parametrize("change", _CHANGES, ids=lambda change: change.__name__)
def test_a_credential_is_refused_within_a_second_of_the_change(
    gateways: Gateways, change: Callable[[Gateways, str], Any], kind: str
) -> None:
    """attacks: B8."""
    username = f"{change.__name__}-{kind}"
    credential = gateways.credential(kind, username)
    for gateway in (gateways.first, gateways.second):
        for _ in range(_IN_A_ROW):
            assert decide(gateway, credential) == HTTPStatus.OK
    with change(gateways, username):
        gateways.is_refused_within_a_second(credential)
