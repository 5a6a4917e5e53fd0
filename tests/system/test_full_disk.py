"""A full disk under a running gateway: writes are refused, tokens go on. Attacks F6, F10."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.gateway_process import start_gateway, until
from tests.support.wire import CHEAP, PASSWORD, SECRET, app, audience, client, protocol, user

SVC = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
REALM = {
    "realm": "r",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "users": [user("alice")],
    "clients": [client("svc", protocolMappers=[audience("svc")]), app("app")],
}
SIGN_IN = {"grant_type": "password", "client_id": "app", "username": "alice", "password": PASSWORD}
SIZE = 24 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system of its own."""
    if os.geteuid() != 0:
        pytest.fail("mounting a file system takes root", pytrace=False)
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", disk], check=True
    )
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def _fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    filler.write(b"x" * size)
            except OSError:
                continue


def _status(http: httpx2.Client, path: str, form: dict[str, str]) -> int:
    return http.post(protocol("r", path), data=form).status_code


def test_tokens_go_on_after_a_restart_of_the_workers_too(tmp_path: Path, small_disk: Path) -> None:
    """A counter in a mapped file on that disk would kill each worker with SIGBUS."""
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    with (
        start_gateway(
            tmp_path, state_dir=small_disk / "state", import_realm=tmp_path / "realms.json"
        ) as gateway,
        gateway.client() as http,
    ):
        token = http.post(protocol("r", "token"), data=SVC).json()["access_token"]
        before = gateway.workers()
        _fill(small_disk)
        gateway.process.send_signal(1)  # SIGHUP: new workers, which begin new counters
        until(lambda: set(gateway.workers()) - set(before), "no new worker")
        with gateway.client() as again:
            assert _status(again, "token", SVC) == 200
            assert _status(again, "revoke", SVC | {"token": token}) == 503
            assert _status(again, "token", SVC) == 200
        assert "worker died" not in gateway.log_text()
        (small_disk / "filler").unlink()
        with gateway.client() as later:
            until(lambda: _status(later, "revoke", SVC | {"token": token}) == 200, "no recovery")


def test_nobody_signs_in_while_redis_cannot_write_its_file(
    tmp_path: Path, small_disk: Path
) -> None:
    """The private Redis lies on that disk: it refuses, and works again when there is room."""
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    with (
        start_gateway(
            tmp_path, state_dir=small_disk / "state", import_realm=tmp_path / "realms.json"
        ) as gateway,
        gateway.client() as http,
    ):
        assert _status(http, "token", SIGN_IN) == 200
        _fill(small_disk)
        until(lambda: _status(http, "token", SIGN_IN) == 503, "sessions are taken and not kept")
        assert _status(http, "token", SVC) == 200
        (small_disk / "filler").unlink()
        until(lambda: _status(http, "token", SIGN_IN) == 200, "no recovery")
