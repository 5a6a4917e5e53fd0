"""Gateways on the same stores that are apart: in time, or by a connection that is cut.

`one` has the right time and a user of its own in Redis, so that it alone can be cut off; `fast` is
ten seconds ahead, `hour` an hour. Each is asked through an nginx of its own.
"""

import json
import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from tests.support import skewed_gateway
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.nginx import start_nginx
from tests.support.redis_server import RedisServer
from tests.support.servers import running
from tests.support.wire import (
    CHEAP,
    PASSWORD,
    SECRET,
    app,
    audience,
    claims_of,
    client,
    protocol,
    user,
)

SKEWS = {"one": 0, "fast": 10, "hour": 3_600}
SESSIONS = 6
"""Users, and online sessions of the gateway whose clock is right."""
SLACK = 5.0
"""Seconds beyond the bound, for a busy machine."""


def _service(client_id: str, *roles: str) -> tuple[dict[str, Any], dict[str, Any]]:
    account = {
        "username": f"service-account-{client_id}",
        "enabled": True,
        "serviceAccountClientId": client_id,
        "clientRoles": {"realm-management": list(roles)} if roles else {},
    }
    return client(client_id, protocolMappers=[audience(client_id)]), account


_OPERATOR, _OPERATOR_ACCOUNT = _service("operator", "realm-admin")
_SVC, _SVC_ACCOUNT = _service("svc")
_DEVICE, _DEVICE_ACCOUNT = _service("device")
REALM = {
    "realm": "r",
    "enabled": True,
    "defaultSignatureAlgorithm": "ES256",
    "passwordPolicy": CHEAP,
    "bruteForceProtected": True,
    "clients": [_OPERATOR, _SVC, _DEVICE, app("app")],
    "users": [
        _OPERATOR_ACCOUNT,
        _SVC_ACCOUNT,
        _DEVICE_ACCOUNT,
        *(user(f"user-{number}") for number in range(SESSIONS)),
    ],
}


@dataclass(frozen=True, slots=True)
class Reached:
    """A gateway behind its own nginx."""

    gateway: Gateway
    http: httpx2.Client

    def post(self, path: str, **form: str) -> httpx2.Response:
        """Post a form to a protocol endpoint."""
        return self.http.post(protocol("r", path), data=form)

    def sign_in(self, number: int = 0, **more: str) -> str:
        """Sign a user in; return the refresh token."""
        form = {"grant_type": "password", "client_id": "app", "password": PASSWORD}
        return _refresh_token(self.post("token", username=f"user-{number}", **form, **more))

    def refresh(self, token: str) -> httpx2.Response:
        """Use a refresh token."""
        form = {"grant_type": "refresh_token", "client_id": "app"}
        return self.post("token", refresh_token=token, **form)

    def issue(self, client_id: str) -> httpx2.Response:
        """Ask for a token as a client: no session, no Redis."""
        form = {"grant_type": "client_credentials", "client_secret": SECRET}
        return self.post("token", client_id=client_id, **form)

    def administer(self, method: str, path: str, document: object = None) -> httpx2.Response:
        """Use the admin API as the service account of `operator`."""
        token = self.issue("operator").json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        return self.http.request(method, f"/admin/realms/r{path}", headers=headers, json=document)

    def check(self, name: str) -> tuple[int, dict[str, Any]]:
        """Return the status of readiness and one of its checks."""
        status, document = self.gateway.health()
        checks = document.get("checks", [])
        return status, next((check for check in checks if check["name"] == name), {})


@dataclass(frozen=True, slots=True)
class Apart:
    """The gateways and their Redis."""

    one: Reached
    fast: Reached
    hour: Reached
    redis: RedisServer

    @contextmanager
    def one_without_redis(self) -> Iterator[None]:
        """Refuse the connections of `one` alone, and end those it has."""
        with self.redis.client() as plain:
            plain.execute_command("ACL", "SETUSER", "one", "off")
            plain.execute_command("CLIENT", "KILL", "USER", "one")
            try:
                yield
            finally:
                plain.execute_command("ACL", "SETUSER", "one", "on")


@pytest.fixture(scope="module")
def apart(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Apart]:
    """Run three gateways on one database and one Redis."""
    folder = tmp_path_factory.mktemp("apart")
    (folder / "realms.json").write_text(json.dumps(REALM))
    shared: dict[str, Any] = {
        "database_url": f"sqlite:///{folder}/shared.db",
        "encryption_key_file": folder / "encryption.key",
        "import_realm": folder / "realms.json",
        "public_url": "https://gateways.test",
        "workers": 1,
    }
    with ExitStack() as stack:
        redis = stack.enter_context(running(RedisServer()))
        with redis.client() as plain:
            acl = ("on", ">word", "~*", "&*", "+@all")
            plain.execute_command("ACL", "SETUSER", "one", *acl)
        reached = {}
        for name, skew in SKEWS.items():
            home = folder / name
            home.mkdir()
            url = redis.url.reveal()
            shared["redis_url"] = url.replace("//", "//one:word@") if name == "one" else url
            gateway = stack.enter_context(
                start_gateway(
                    home,
                    wait=name != "hour",
                    program=(skewed_gateway.__file__, str(skew)),
                    **shared,
                )
            )
            socket = f"unix:{gateway.socket}"
            nginx = stack.enter_context(start_nginx(home, edge_certificates.folder, [socket]))
            http = stack.enter_context(nginx.client())
            http.base_url, http.timeout = httpx2.URL(nginx.https), httpx2.Timeout(30)
            reached[name] = Reached(gateway, http)
        until(lambda: reached["hour"].gateway.health("live")[0] == httpx2.codes.OK, "no start")
        until(lambda: reached["hour"].issue("svc").is_success, "no answer")
        yield Apart(**reached, redis=redis)


def _refresh_token(response: httpx2.Response) -> str:
    assert response.status_code == httpx2.codes.OK, response.text
    return str(response.json()["refresh_token"])


@pytest.mark.parametrize("scope", ["openid", "offline_access"])
def test_clocks_ten_seconds_apart_refuse_no_refresh(apart: Apart, scope: str) -> None:
    token = apart.fast.sign_in(scope=scope)
    for gateway in (apart.one, apart.one, apart.fast, apart.one, apart.fast):
        token = _refresh_token(gateway.refresh(token))
    token = apart.one.sign_in(scope=scope)
    for gateway in (apart.fast, apart.fast, apart.one, apart.fast):
        token = _refresh_token(gateway.refresh(token))


def test_a_gateway_an_hour_ahead_ends_no_session_of_the_others(apart: Apart) -> None:
    tokens = [apart.one.sign_in(number) for number in range(SESSIONS)]
    for number in range(SESSIONS):
        apart.hour.sign_in(number)
        apart.hour.refresh(tokens[number])
    assert [apart.one.refresh(token).status_code for token in tokens] == [200] * SESSIONS


def test_a_differing_clock_is_reported_and_far_off_fails_ready(apart: Apart) -> None:
    status, check = apart.fast.check("clock")
    assert (status, check["status"]) == (200, "UP")
    assert check["data"] == {"redis_seconds": 10, "sql_seconds": 10}
    status, check = apart.hour.check("clock")
    assert (status, check["status"]) == (503, "DOWN")
    assert "3600 s ahead of Redis and 3600 s ahead of SQL" in check["data"]["reason"]
    logged = [line for line in apart.hour.gateway.log() if line["event"] == "clock differs"]
    assert [(line["redis_seconds"], line["sql_seconds"]) for line in logged] == [(3600, 3600)]


def test_a_change_without_redis_counts_here_now_and_there_soon(
    apart: Apart,
) -> None:
    """Of a service account, whose change concerns two topics."""
    for gateway in (apart.one, apart.fast):
        assert gateway.issue("device").status_code == httpx2.codes.OK
    (device,) = apart.one.administer("GET", "/clients?clientId=device").json()
    account = apart.one.administer("GET", f"/clients/{device['id']}/service-account-user").json()
    with apart.one_without_redis():
        until(lambda: apart.one.check("redis")[1]["status"] == "DOWN", "not cut off")
        assert apart.fast.check("redis")[1]["data"] == {"subscribed": True}
        done = apart.one.administer("PUT", f"/users/{account['id']}", {"enabled": False})
        assert done.status_code == 204, done.text
        assert apart.one.issue("device").status_code == 401
        until(lambda: apart.fast.issue("device").status_code == 401, "stale", 5.0 + SLACK)


def test_a_right_removed_without_redis_is_gone_everywhere(
    apart: Apart,
) -> None:
    (manager,) = apart.one.administer("GET", "/clients?clientId=realm-management").json()
    (device,) = apart.one.administer("GET", "/clients?clientId=svc").json()
    account = apart.one.administer("GET", f"/clients/{device['id']}/service-account-user").json()
    role = apart.one.administer("GET", f"/clients/{manager['id']}/roles/view-users").json()
    mapping = f"/users/{account['id']}/role-mappings/clients/{manager['id']}"
    headers = {"Authorization": f"Bearer {apart.fast.issue('svc').json()['access_token']}"}

    def count() -> int:
        return apart.fast.http.get("/admin/realms/r/users/count", headers=headers).status_code

    with apart.one_without_redis():
        for _ in range(3):
            assert count() == 403
            assert apart.one.administer("POST", mapping, [role]).status_code == 204
            assert count() == 200
            assert apart.one.administer("DELETE", mapping, [role]).status_code == 204
    assert count() == 403


@pytest.mark.parametrize("scope", ["openid", "offline_access"])
def test_tokens_from_before_rotation_rotate_once_it_is_on(apart: Apart, scope: str) -> None:
    """One use each, on all gateways and at the same time; a second use ends the successors."""
    kept, reused, raced = (apart.one.sign_in(number, scope=scope) for number in range(3))
    apart.one.administer("PUT", "", {"revokeRefreshToken": True, "refreshTokenMaxReuse": 0})
    try:
        until(lambda: "reuse_id" in claims_of(apart.one.sign_in(4)), "not switched on")
        until(lambda: "reuse_id" in claims_of(apart.fast.sign_in(4)), "not switched on")
        for gateway in (apart.one, apart.fast, apart.one):
            kept = _refresh_token(gateway.refresh(kept))
        successor = _refresh_token(apart.one.refresh(reused))
        assert claims_of(successor)["reuse_id"] == claims_of(reused)["jti"]
        assert apart.fast.refresh(reused).status_code == 400
        assert apart.one.refresh(successor).status_code == 400
        with ThreadPoolExecutor(8) as threads:
            gateways = [apart.one, apart.fast] * 4
            answers = list(threads.map(lambda gateway: gateway.refresh(raced), gateways))
        assert Counter(answer.status_code for answer in answers) == {200: 1, 400: 7}
    finally:
        apart.one.administer("PUT", "", {"revokeRefreshToken": False})


def test_while_redis_hangs_refusals_are_quick_and_the_rest_works(apart: Apart) -> None:
    token = apart.one.sign_in()
    process = apart.redis.pid
    os.kill(process, signal.SIGSTOP)
    try:
        took = []
        for _ in range(15):
            began = time.monotonic()
            assert apart.one.refresh(token).status_code == 503
            took.append(time.monotonic() - began)
            assert apart.one.issue("svc").status_code == 200
        assert statistics.median(took) < 0.1
    finally:
        os.kill(process, signal.SIGCONT)
    until(lambda: apart.one.refresh(token).status_code == 200, "no recovery", 2.0 + SLACK)
