"""A Redis that answers and takes no writes: nothing goes uncounted. Attacks F6.

Full means that its memory is used up, for nothing is evicted; read-only that it cannot write what
it holds to its disk, or that it has become a replica. What needs Redis is 503, the rest goes on.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.redis_server import RedisServer
from tests.support.wire import CHEAP, PASSWORD, SECRET, app, audience, client, protocol, user

SVC = {"client_id": "svc", "client_secret": SECRET}
SIGN_IN = {"grant_type": "password", "client_id": "app", "username": "alice"}
REALM = {
    "realm": "r",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "bruteForceProtected": True,
    "failureFactor": 3,
    "quickLoginCheckMilliSeconds": 0,
    "users": [user("alice")],
    "clients": [client("svc", protocolMappers=[audience("svc")]), app("app")],
}
RECOVERY = 10.0
"""Seconds to wait on a busy machine for what takes two on an idle one. Attacks S18."""


@contextmanager
def full(server: RedisServer) -> Iterator[None]:
    """Fill the memory to its limit, as a flood of keys would."""
    with server.client() as plain:
        for number in range(1 << 7):
            plain.set(f"flood:{number}", "x" * (1 << 14))
        # Less than the flood alone: connections that close give nothing back that would do.
        plain.config_set("maxmemory", plain.info("memory")["used_memory"] - (1 << 20))
        yield
        plain.delete(*plain.keys("flood:*"))


@contextmanager
def unable_to_save(server: RedisServer) -> Iterator[None]:
    """Let the server's copy on disk fail: it refuses writes until one has gone well."""
    obstacle = server.folder / "dump.rdb"
    with server.client() as plain:
        plain.config_set("save", "3600 1")
        obstacle.mkdir()
        plain.bgsave()
        until(lambda: plain.info("persistence")["rdb_last_bgsave_status"] == "err", "it saved")
        yield
        obstacle.rmdir()
        plain.bgsave()


@contextmanager
def demoted(server: RedisServer) -> Iterator[None]:
    """Make it a replica of a server that is not there, as a failover would."""
    with server.client() as plain:
        plain.replicaof("127.0.0.1", "1")
        yield
        plain.replicaof("NO", "ONE")


def _ask(http: httpx2.Client, path: str, **form: str) -> httpx2.Response:
    return http.post(protocol("r", path), data=form)


def _sign_in(http: httpx2.Client, password: str = PASSWORD) -> httpx2.Response:
    return _ask(http, "token", **SIGN_IN, password=password)


def _redis(gateway: Gateway) -> dict[str, object]:
    checks = gateway.health()[1]["checks"]
    (found,) = [check for check in checks if check["name"] == "redis"]
    return dict(found)


@pytest.mark.parametrize(
    ("trouble", "word"), [(full, "maxmemory"), (unable_to_save, "MISCONF"), (demoted, "read only")]
)
def test_a_redis_without_writes_stops_sign_ins_and_nothing_else(
    tmp_path: Path,
    own_redis: RedisServer,
    trouble: Callable[[RedisServer], AbstractContextManager[None]],
    word: str,
) -> None:
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    url = own_redis.url.reveal()
    with (
        start_gateway(tmp_path, import_realm=tmp_path / "realms.json", redis_url=url) as gateway,
        gateway.client() as http,
    ):
        signed_in = _sign_in(http).json()
        renewal = {"grant_type": "refresh_token", "client_id": "app"}
        renewal["refresh_token"] = signed_in["refresh_token"]
        with trouble(own_redis):
            for refused in (
                _sign_in(http),
                _sign_in(http, "wrong"),
                _ask(http, "token", **renewal),
            ):
                assert refused.status_code == 503
                assert refused.json()["error"] == "temporarily_unavailable"
                assert int(refused.headers["retry-after"]) >= 1
            token = _ask(http, "token", grant_type="client_credentials", **SVC).json()
            answer = _ask(http, "token/introspect", token=token["access_token"], **SVC)
            assert answer.json()["active"] is True
            assert http.get(protocol("r", "certs")).status_code == 200
            assert gateway.health()[0] == 200
            assert _redis(gateway)["status"] == "DOWN"
            assert word in str(_redis(gateway)["data"])
            reasons = [line["reason"] for line in gateway.log() if line.get("status") == 503]
            assert [word in reason for reason in reasons] == [True] * 3
        until(lambda: _sign_in(http).status_code == 200, "no recovery", RECOVERY)
        assert _ask(http, "token", **renewal).status_code == 200, "the session is there"
        assert _redis(gateway)["status"] == "UP"
        assert [_sign_in(http, "wrong").status_code for _ in range(3)] == [400] * 3
        assert _sign_in(http).status_code == 400, "and failures are counted again"
