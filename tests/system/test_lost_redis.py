"""What a gateway does without its Redis, after its crash, and after it was emptied.

Away: nobody signs in and no session ends. Back with its file: all is as it was, on every gateway.
Emptied, or failed over with loss: each account has at most `failureFactor` guesses more, and what
must not come back stands in SQL. Attacks D7, F2, F4, F5, S13, S14, S18
"""

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pyotp
import pytest

from tests.support.gateway_process import start_gateway, until
from tests.support.redis_server import RedisServer
from tests.support.servers import running
from tests.support.wire import (
    CHEAP,
    DEVICE,
    DEVICE_KEY,
    PASSWORD,
    SECRET,
    app,
    audience,
    client,
    protocol,
    user,
)

ALLOWED = 3
SVC = {"client_id": "svc", "client_secret": SECRET}
GRANT = SVC | {"grant_type": "client_credentials"}
GUARDED = {
    "enabled": True,
    "passwordPolicy": CHEAP,
    "bruteForceProtected": True,
    "failureFactor": ALLOWED,
    "quickLoginCheckMilliSeconds": 0,
    "revokeRefreshToken": True,
    "clients": [client("svc", protocolMappers=[audience("svc")]), app("app")],
}
_WITH_DEVICE = [{"type": "password", "value": PASSWORD}, DEVICE]
REALMS = [
    {"realm": "r", "users": [user("alice"), user("mallory")], **GUARDED},
    {"realm": "codes", "users": [user("cora", credentials=_WITH_DEVICE)], **GUARDED},
    {"realm": "strict", "users": [user("trudy")], **GUARDED, "permanentLockout": True},
]
RECOVERY = 10.0
"""Seconds to wait on a busy machine for what takes two on an idle one. Attacks S18."""
UNAVAILABLE = 503


class Pair:
    """Two gateways on one database and one Redis; `ask` takes them in turn."""

    def __init__(self, gateways: list[httpx2.Client]) -> None:
        self.gateways = gateways

    def ask(self, path: str, form: dict[str, str], realm: str = "r") -> httpx2.Response:
        """Post a form to the next gateway."""
        self.gateways.reverse()
        return self.gateways[0].post(protocol(realm, path), data=form)

    def sign_in(
        self, username: str, password: str = PASSWORD, realm: str = "r", scope: str = "openid"
    ) -> httpx2.Response:
        """Sign a user in."""
        form = {"grant_type": "password", "client_id": "app", "scope": scope}
        return self.ask("token", form | {"username": username, "password": password}, realm)

    def refresh(self, token: str) -> httpx2.Response:
        """Use a refresh token."""
        form = {"grant_type": "refresh_token", "client_id": "app", "refresh_token": token}
        return self.ask("token", form)

    def is_active(self, token: str) -> bool:
        """Introspect a token of `svc`."""
        return bool(self.ask("token/introspect", SVC | {"token": token}).json()["active"])

    def guess(self, username: str, realm: str = "r") -> None:
        """Guess as often as the realm looks at guesses."""
        for _ in range(ALLOWED):
            assert self.sign_in(username, "wrong", realm).status_code == 400

    def is_locked_out(self, username: str, realm: str = "r") -> bool:
        """Tell whether even the right password is refused."""
        return self.sign_in(username, realm=realm).status_code == 400

    def both_let_in(self, username: str) -> bool:
        """Tell whether the user can sign in at either gateway."""
        return [self.sign_in(username).status_code for _ in self.gateways] == [200, 200]


@pytest.fixture
def redis_with_file() -> Iterator[RedisServer]:
    """Run a server that keeps what it was told in a file, as the product asks for."""
    with running(RedisServer(appendonly="yes", appendfsync="always")) as server:
        yield server


@pytest.fixture
def pair(tmp_path: Path, redis_with_file: RedisServer) -> Iterator[Pair]:
    """Run two gateways on one database and that Redis."""
    (tmp_path / "realms.json").write_text(json.dumps(REALMS))
    shared: dict[str, Any] = {
        "database_url": f"sqlite:///{tmp_path}/shared.db",
        "encryption_key_file": tmp_path / "encryption.key",
        "redis_url": redis_with_file.url.reveal(),
        "import_realm": tmp_path / "realms.json",
    }
    with ExitStack() as running:
        clients = []
        for name in ("one", "two"):
            home = tmp_path / name
            home.mkdir()
            gateway = running.enter_context(start_gateway(home, **shared))
            clients.append(running.enter_context(gateway.client()))
        yield Pair(clients)


def _token(response: httpx2.Response, kind: str = "refresh_token") -> str:
    assert response.status_code == httpx2.codes.OK, response.text
    return str(response.json()[kind])


def test_a_crash_of_redis_refuses_sign_ins_and_ends_no_session(
    pair: Pair, redis_with_file: RedisServer
) -> None:
    session = _token(pair.sign_in("alice"))
    pair.guess("mallory")
    assert pair.is_locked_out("mallory")
    redis_with_file.stop()
    for _ in range(2):
        for refused in (
            pair.sign_in("alice"),
            pair.sign_in("alice", scope="offline_access"),
            pair.sign_in("alice", "wrong"),
            pair.sign_in("mallory"),
            pair.refresh(session),
        ):
            assert refused.status_code == UNAVAILABLE
            assert int(refused.headers["retry-after"]) >= 1
        assert pair.ask("token", GRANT).status_code == 200
    redis_with_file.start()
    until(lambda: pair.both_let_in("alice"), "no recovery", RECOVERY)
    assert pair.is_locked_out("mallory")
    session = _token(pair.refresh(session))
    assert _token(pair.refresh(session))


def test_an_emptied_redis_allows_one_more_round_of_guesses(
    pair: Pair, redis_with_file: RedisServer
) -> None:
    pair.guess("mallory")
    assert pair.is_locked_out("mallory")
    with redis_with_file.client() as plain:
        plain.flushall()
        pair.guess("mallory")
        assert pair.is_locked_out("mallory")


def test_what_must_not_come_back_outlives_an_emptied_redis(
    pair: Pair, redis_with_file: RedisServer
) -> None:
    """Permanent lock-outs, revocations, ended offline sessions, spent refresh tokens."""
    pair.guess("trudy", "strict")
    revoked = _token(pair.ask("token", GRANT), "access_token")
    assert pair.ask("revoke", SVC | {"token": revoked}).status_code == 200
    ended, spent = (_token(pair.sign_in("alice", scope="offline_access")) for _ in range(2))
    logout = {"client_id": "app", "refresh_token": ended}
    assert pair.ask("logout", logout).status_code == 204
    kept = _token(pair.refresh(spent))
    with redis_with_file.client() as plain:
        plain.flushall()
    assert pair.is_locked_out("trudy", "strict")
    assert not pair.is_active(revoked)
    assert pair.refresh(ended).status_code == 400
    assert _token(pair.refresh(kept))
    assert pair.refresh(spent).status_code == 400


def test_a_used_code_of_a_device_outlives_an_emptied_redis(
    pair: Pair, redis_with_file: RedisServer
) -> None:
    """RFC 6238 §5.2. attacks: D7."""
    code = pyotp.TOTP(base64.b32encode(DEVICE_KEY.encode()).decode()).now()

    def answers() -> list[int]:
        form = {"grant_type": "password", "client_id": "app", "username": "cora", "totp": code}
        gateways = pair.gateways
        return [
            pair.ask("token", form | {"password": PASSWORD}, "codes").status_code for _ in gateways
        ]

    assert answers() == [200, 400]
    with redis_with_file.client() as plain:
        plain.flushall()
    assert answers() == [400, 400]
