"""Two gateways behind nginx, restarted one after the other under load. Attacks F14, S16.

Nobody who asks notices, and no request that changes something is carried out twice: each refresh
token works once, so whoever's refresh was sent again would find its session ended.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import httpx2
import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.nginx import RunningNginx, start_nginx
from tests.support.redis_server import RedisServer
from tests.support.wire import CHEAP, PASSWORD, SECRET, app, client, protocol, user

ROUNDS = 2
STOPS = 20
CLIENTS = 30
PATIENCE = 30.0
"""Seconds for an answer, also on a busy machine."""
NAMES = ("one", "two")
REALM = {
    "realm": "r",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "revokeRefreshToken": True,
    "users": [user("alice")],
    "clients": [app("app"), client("svc")],
}


class Fleet:
    """Two gateways on the same stores, each of which can be started anew."""

    def __init__(self, folder: Path, **shared: Any) -> None:
        self._folder, self._shared = folder, shared
        self._running: dict[str, tuple[ExitStack, Gateway]] = {}

    def socket(self, name: str) -> str:
        """Return where nginx finds a gateway."""
        return f"unix:{self._folder / name / 'state/run/gateway.sock'}"

    def start(self, name: str) -> None:
        """Start a gateway and wait until it is ready."""
        home = self._folder / name
        home.mkdir(exist_ok=True)
        stack = ExitStack()
        self._running[name] = (stack, stack.enter_context(start_gateway(home, **self._shared)))

    def end(self, name: str) -> None:
        """End a gateway as an operator does."""
        stack, gateway = self._running.pop(name)
        with stack:
            assert gateway.stop() == 0

    def end_all(self) -> None:
        """End what runs."""
        for name in list(self._running):
            self.end(name)


@pytest.fixture
def fleet(tmp_path: Path, redis_server: RedisServer) -> Iterator[Fleet]:
    """Run both gateways."""
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    running = Fleet(
        tmp_path,
        database_url=f"sqlite:///{tmp_path}/shared.db",
        encryption_key_file=tmp_path / "encryption.key",
        redis_url=redis_server.url.reveal(),
        import_realm=tmp_path / "realms.json",
    )
    try:
        for name in NAMES:
            running.start(name)
        yield running
    finally:
        running.end_all()


class Caller(threading.Thread):
    """Reads and refreshes through nginx until stopped."""

    def __init__(self, nginx: RunningNginx) -> None:
        super().__init__()
        self._nginx = nginx
        self._enough = threading.Event()
        self.read: list[int] = []
        self.refreshed: list[int] = []

    def run(self) -> None:
        """Read the keys, then use the newest refresh token."""
        with self._nginx.client() as http:
            http.timeout = PATIENCE
            token = self._sign_in(http)
            while not self._enough.is_set():
                self.read.append(http.get(self._url("certs")).status_code)
                form = {"grant_type": "refresh_token", "client_id": "app", "refresh_token": token}
                answer = http.post(self._url("token"), data=form)
                self.refreshed.append(answer.status_code)
                # Without an answer nobody knows which token is the newest.
                known = answer.status_code == httpx2.codes.OK
                token = str(answer.json()["refresh_token"]) if known else self._sign_in(http)

    def stop(self) -> None:
        """Stop when the present request is answered."""
        self._enough.set()
        self.join()

    def _url(self, path: str) -> str:
        return f"{self._nginx.https}{protocol('r', path)}"

    def _sign_in(self, http: httpx2.Client) -> str:
        form = {"grant_type": "password", "client_id": "app", "scope": "offline_access"}
        who = {"username": "alice", "password": PASSWORD}

        def attempt() -> str:
            answer = http.post(self._url("token"), data=form | who)
            known = answer.status_code == httpx2.codes.OK
            return str(answer.json()["refresh_token"]) if known else ""

        return until(attempt, "nobody can sign in")


def test_nobody_notices_that_gateways_are_restarted_in_turn(
    tmp_path: Path, edge_certificates: EdgeCertificates, fleet: Fleet
) -> None:
    upstreams = [fleet.socket(name) for name in NAMES]
    with start_nginx(tmp_path / "nginx", edge_certificates.folder, upstreams) as nginx:
        callers = [Caller(nginx) for _ in range(3)]
        for caller in callers:
            caller.start()
        try:
            for name in NAMES * ROUNDS:
                before = [len(caller.refreshed) for caller in callers]
                fleet.end(name)
                fleet.start(name)
                until(
                    lambda before=before: all(  # type: ignore[misc] # a bound default
                        len(caller.refreshed) > count
                        for caller, count in zip(callers, before, strict=True)
                    ),
                    "somebody is not answered any more",
                )
        finally:
            for caller in callers:
                caller.stop()
    for caller in callers:
        assert set(caller.read) == {200}
        assert set(caller.refreshed) == {200}, "a refresh was lost or carried out twice"


class Load:
    """Clients on connections that stay open, whose POSTs nginx never sends a second time.

    They pause while a gateway starts, which would take several times as long beside them.
    """

    def __init__(self, nginx: RunningNginx) -> None:
        self._nginx = nginx
        self._ended, self._running = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CLIENTS)]
        self.answers: Counter[int] = Counter()

    def __enter__(self) -> Self:
        self._running.set()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._ended.set()
        self._running.set()
        for thread in self._threads:
            thread.join()

    def pause(self) -> None:
        """Send nothing more until resumed, once the gateway that is left has answered."""
        self._wait_for_answers()
        self._running.clear()

    def resume(self) -> None:
        """Send requests, of which some are on their way when this returns."""
        self._running.set()
        self._wait_for_answers()

    def _wait_for_answers(self) -> None:
        before = self.answers.total()
        until(lambda: self.answers.total() > before + CLIENTS, "no load")

    def _run(self) -> None:
        url = f"{self._nginx.https}{protocol('r', 'token')}"
        form = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
        with self._nginx.client() as http:
            http.timeout = PATIENCE
            while not self._ended.is_set():
                self._running.wait()
                self.answers[http.post(url, data=form).status_code] += 1


def test_no_post_fails_while_gateways_stop_under_load(
    tmp_path: Path, edge_certificates: EdgeCertificates, fleet: Fleet
) -> None:
    upstreams = [fleet.socket(name) for name in NAMES]
    with (
        start_nginx(tmp_path / "nginx", edge_certificates.folder, upstreams) as nginx,
        Load(nginx) as load,
    ):
        for name in NAMES * (STOPS // len(NAMES)):
            load.resume()
            fleet.end(name)
            load.pause()
            fleet.start(name)
    assert set(load.answers) == {200}, load.answers
