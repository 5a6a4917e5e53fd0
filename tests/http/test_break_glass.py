"""Every administrator is locked out; commands on the host let them in again. attacks: D5."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from tests.support.forked_gateway import run_command
from tests.support.gateway_process import Gateway, start_gateway

_PASSWORD: Final = "An administrator's word 1"
_ADMINISTRATORS: Final = ("admin", "ada", "grace")
"""The bootstrap administrator and two whom it has added; no client has a service account."""
_FACTOR: Final = 2
_MOST_SECONDS: Final = 60.0
_MASTER: Final = {
    "realm": "master",
    "enabled": True,
    "sslRequired": "none",
    "defaultSignatureAlgorithm": "ES256",
    "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
    "bruteForceProtected": True,
    "failureFactor": _FACTOR,
    "waitIncrementSeconds": 1800,
    "maxFailureWaitSeconds": 5400,
    "quickLoginCheckMilliSeconds": 0,
    "users": [
        {
            "username": name,
            "enabled": True,
            "realmRoles": ["admin"],
            "credentials": [{"type": "password", "value": _PASSWORD}],
        }
        for name in _ADMINISTRATORS[1:]
    ],
}
_REQUESTS: Final = re.compile(r"^realmgate_requests_total\{.*\} (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Host:
    """A shell beside the gateway, and a client in the network."""

    gateway: Gateway
    http: httpx2.Client

    def command(self, *arguments: str) -> str:
        """Run a command with the gateway's state folder and nothing else; return what it prints."""
        environment = {"REALMGATE_STATE_DIR": str(self.gateway.state_dir)}
        done = run_command(arguments, cwd=self.gateway.state_dir, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def token(self, name: str, password: str = _PASSWORD) -> str | None:
        """Return an access token of the administrator, None where the sign-in is refused."""
        form = {"grant_type": "password", "client_id": "admin-cli", "username": name}
        url = "/realms/master/protocol/openid-connect/token"
        response = self.http.post(url, data=form | {"password": password})
        assert response.is_success or response.json()["error"] == "invalid_grant", response.text
        return str(response.json()["access_token"]) if response.is_success else None

    def reaches(self, token: str | None) -> bool:
        """Tell whether the admin API answers."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        response = self.http.get("/admin/realms/master/users", headers=headers)
        assert response.status_code in {httpx2.codes.OK, httpx2.codes.UNAUTHORIZED}
        return response.is_success

    def lock_out_all(self) -> None:
        """Guess passwords of every administrator, as a stranger."""
        for name in _ADMINISTRATORS:
            assert self.reaches(self.token(name))
            for _ in range(_FACTOR):
                assert self.token(name, "wrong") is None
            assert not self.reaches(self.token(name))

    def requests(self) -> float:
        """Return how many requests the gateway has answered."""
        return sum(map(float, _REQUESTS.findall(self.gateway.metrics())))


@pytest.fixture
def host(tmp_path: Path) -> Iterator[_Host]:
    """Run a gateway whose only administrators have passwords."""
    (tmp_path / "realms.json").write_text(json.dumps([_MASTER]))
    with (
        start_gateway(
            tmp_path,
            import_realm=tmp_path / "realms.json",
            admin_password=_PASSWORD,
            workers=1,
        ) as gateway,
        gateway.client() as http,
    ):
        yield _Host(gateway, http)


def _recover(host: _Host) -> list[dict[str, Any]]:
    """Unlock everyone who is listed as locked out; return the list. No request is sent."""
    before = host.requests()
    listed = host.command("user", "list", "--realm", "master", "--locked", "--output", "json")
    found: list[dict[str, Any]] = json.loads(listed)
    for each in found:
        name = each["username"]
        done = host.command("user", "unlock", "--realm", "master", name)
        assert done == f"user {name}: unlocked\n"
    assert host.requests() == before > 0, "the commands need no token: they ask no gateway"
    return found


def test_a_shell_on_the_host_unlocks_every_administrator(host: _Host) -> None:
    """attacks: D5. First a temporary lock-out of all, then a permanent one."""
    begin = time.monotonic()
    host.lock_out_all()
    locked = _recover(host)
    assert {each["username"] for each in locked} == {*_ADMINISTRATORS}
    assert not any(each["permanent"] for each in locked)
    earlier = [host.token(name) for name in _ADMINISTRATORS]
    assert all(host.reaches(token) for token in earlier)

    host.command("realm", "update", "master", "--set", "permanentLockout=true")
    host.lock_out_all()
    assert not any(host.reaches(token) for token in earlier), "issued before the lock-out"
    locked = _recover(host)
    assert {each["username"] for each in locked} == {*_ADMINISTRATORS}
    assert all(each["permanent"] for each in locked)
    assert all(host.reaches(host.token(name)) for name in _ADMINISTRATORS)
    assert time.monotonic() - begin < _MOST_SECONDS
