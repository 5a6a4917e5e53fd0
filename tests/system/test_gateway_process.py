"""The processes of a gateway: how it starts, survives and ends.

Where it matters what a process has imported or who its parent is, `realmgate start` runs as the
shell starts it; elsewhere it is forked from a process that has the program imported.
"""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.gateway_process import (
    Gateway,
    is_running,
    start_command,
    start_gateway,
    until,
)
from tests.support.ports import free_port

REALM = "/realms/master"


def refused(tmp_path: Path, **settings: Any) -> str:
    """Start with `settings`, expect that it ends by itself, and return what it said."""
    with start_gateway(tmp_path, wait=False, **settings) as gateway:
        assert gateway.process.wait(20) != 0
        return gateway.log_text()


def killed(gateway: Gateway, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(pid), f"{pid} is still there")
    assert gateway.process.poll() is None


def test_it_serves_on_a_socket_that_is_closed_to_strangers(gateway: Gateway) -> None:
    with gateway.client() as client:
        assert client.get(REALM).json()["realm"] == "master"
    assert stat.S_IMODE(gateway.socket.stat().st_mode) == 0o660
    assert stat.S_IMODE(gateway.socket.parent.stat().st_mode) == 0o700
    key = gateway.state_dir / "secrets" / "encryption.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_sigterm_ends_every_process_and_leaves_no_socket(tmp_path: Path, seed: Path) -> None:
    with start_command(tmp_path, seed=seed, workers=2) as gateway:
        family = gateway.family()
        assert len(family) == 3, "two workers and the private Redis"
        with gateway.client() as client:  # the first that is counted makes the files
            client.get(REALM)
        until(gateway.counter_files, "nothing is counted")
        assert gateway.stop() == 0
        assert not [pid for pid in family if is_running(pid)]
        assert not gateway.socket.exists()
        assert not gateway.counter_files()


def test_ctrl_c_ends_it_as_sigterm_does(tmp_path: Path, seed: Path) -> None:
    with start_command(tmp_path, seed=seed) as gateway:
        before = gateway.workers()
        for pid in before:  # a terminal signals the whole group; only the supervisor decides
            os.kill(pid, signal.SIGINT)
        with gateway.client() as client:
            assert client.get(REALM).status_code == 200
        assert gateway.workers() == before
        gateway.process.send_signal(signal.SIGINT)
        assert gateway.process.wait(20) == 0
        assert not gateway.socket.exists()


def test_workers_end_when_their_supervisor_is_killed(tmp_path: Path, seed: Path) -> None:
    with start_command(tmp_path, seed=seed, workers=2) as gateway:
        workers = gateway.workers()
        family = gateway.family()
        gateway.stop(signal.SIGKILL)
        until(lambda: not [pid for pid in workers if is_running(pid)], "orphans", 10)
        with start_gateway(tmp_path, seed=seed, state_dir=gateway.state_dir) as second:
            assert second.health()[0] == 200, "the stale socket was replaced"
        assert not [pid for pid in family if is_running(pid)], "Redis was taken over and ended"


def test_a_running_request_finishes_and_others_are_sent_away(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        body = b"grant_type=client_credentials"
        head = (
            f"POST {REALM}/protocol/openid-connect/token HTTP/1.1\r\nhost: gateway\r\n"
            "content-type: application/x-www-form-urlencoded\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        with socket.socket(socket.AF_UNIX) as slow, gateway.client() as other:
            slow.settimeout(10)
            slow.connect(str(gateway.socket))
            slow.sendall(head.encode() + body[:10])
            assert "connection" not in other.get(REALM).headers
            gateway.process.send_signal(signal.SIGTERM)
            until(lambda: gateway.health()[0] == 503, "readiness does not fail")
            assert other.get(REALM).headers["connection"] == "close"
            until(lambda: not gateway.has_listener(), "it goes on accepting")
            assert gateway.health()[0] == 503, "it is known to end until it has ended"
            slow.sendall(body[10:])
            assert slow.recv(65536).startswith(b"HTTP/1.1 4")
        assert gateway.process.wait(20) == 0


def test_a_request_that_never_ends_is_cut_after_the_grace(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed, shutdown_grace="700ms") as gateway:
        with socket.socket(socket.AF_UNIX) as endless:
            endless.connect(str(gateway.socket))
            endless.sendall(
                f"POST {REALM}/protocol/openid-connect/token HTTP/1.1\r\nhost: gateway\r\n"
                "content-type: application/x-www-form-urlencoded\r\n"
                "x-forwarded-proto: https\r\ncontent-length: 10\r\n\r\n".encode()
            )
            assert gateway.stop() == 0
        assert "Traceback" not in gateway.log_text()
        assert "did not end in time" not in gateway.log_text()


def test_a_killed_worker_comes_back_at_once(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        (first,) = gateway.workers()
        killed(gateway, first)
        with gateway.client() as client:
            until(gateway.workers, "no new worker", 5.0)
            assert client.get(REALM).status_code == 200
        assert gateway.workers() != [first]


def test_a_request_that_meets_no_worker_waits_for_the_next(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway, gateway.client() as client:
        (worker,) = gateway.workers()
        os.kill(worker, signal.SIGKILL)
        assert client.get(REALM).status_code == 200


def test_sighup_replaces_the_workers_without_losing_a_request(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed, workers=2) as gateway:
        before = gateway.workers()
        done, failures, answered = threading.Event(), list[str](), [0]

        def ask() -> None:
            while not done.is_set():
                with gateway.client() as client:
                    response = client.get(REALM)
                if response.status_code != 200:
                    failures.append(response.text)
                answered[0] += 1

        asking = threading.Thread(target=ask)
        asking.start()
        gateway.process.send_signal(signal.SIGHUP)
        until(lambda: not [pid for pid in before if is_running(pid)], "the old workers stay")
        done.set()
        asking.join()
        assert failures == []
        assert answered[0] > 0
        assert len(gateway.workers()) == 2


def test_the_private_redis_comes_back(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        (redis,) = set(gateway.family()) - set(gateway.workers())
        killed(gateway, redis)
        until(lambda: _redis(gateway) == "UP", "Redis does not come back")


def _redis(gateway: Gateway) -> str:
    report = gateway.health()[1]
    (status,) = [check["status"] for check in report["checks"] if check["name"] == "redis"]
    return str(status)


def test_two_gateways_start_at_once_on_one_database(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/shared.db"
    key = tmp_path / "encryption.key"
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
    common: dict[str, Any] = {"database_url": database, "encryption_key_file": key}
    with (
        start_gateway(homes[0], wait=False, **common) as one,
        start_gateway(homes[1], wait=False, **common) as two,
    ):
        keys = []
        for gateway in (one, two):
            until(lambda at=gateway: at.health()[0] == 200, "it is not ready")  # type: ignore[misc] # a bound default
            with gateway.client() as client:
                keys.append(client.get(f"{REALM}/protocol/openid-connect/certs").json())
    assert keys[0] == keys[1]
    assert sorted(key["use"] for key in keys[0]["keys"]) == ["enc", "sig"]


def test_a_missing_encryption_key_is_not_replaced(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        assert gateway.stop() == 0
    key = gateway.state_dir / "secrets" / "encryption.key"
    key.unlink()
    said = refused(tmp_path, workers=2)
    assert f"there is no encryption key {key}" in said
    assert not key.exists()


def test_a_socket_in_use_is_never_taken(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        said = refused(tmp_path, state_dir=gateway.state_dir, management_port=free_port())
        assert "is in use by another process" in said
        assert gateway.health()[0] == 200
        with gateway.client() as client:
            assert client.get(REALM).status_code == 200


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "run" / "gateway.sock"
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_text("precious")
    assert "is not a socket" in refused(tmp_path)
    assert path.read_text() == "precious"


def test_a_management_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in refused(tmp_path, management_port=port)


@pytest.mark.parametrize("mode", [0o755, 0o701, 0o777])
def test_a_directory_open_to_everybody_is_refused(tmp_path: Path, mode: int) -> None:
    run = tmp_path / "state" / "run"
    run.mkdir(parents=True)
    run.chmod(mode)
    said = refused(tmp_path)
    assert "open to everybody" in said
    assert f"chmod o-rwx {run}" in said


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_writable_directory_above_the_socket_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "state" / "run").mkdir(mode=0o700, parents=True)
    (tmp_path / "state").chmod(mode)
    assert "may be written by others" in refused(tmp_path)


def test_wrong_settings_end_it_with_every_line_and_two(tmp_path: Path, seed: Path) -> None:
    with start_gateway(
        tmp_path, seed=seed, wait=False, workers="many", listen="nowhere"
    ) as gateway:
        assert gateway.process.wait(20) == 2
        said = gateway.log_text()
    assert "Error: REALMGATE_WORKERS" in said
    assert "Error: REALMGATE_LISTEN" in said
    assert "Traceback" not in said


def test_a_wrong_realm_file_ends_it_with_two_and_changes_nothing(
    tmp_path: Path, seed: Path
) -> None:
    file = tmp_path / "wrong.json"
    file.write_text('{"realm": "wrong", "accessTokenLifespan": "soon"}')
    with start_gateway(
        tmp_path, seed=seed, wait=False, flags=["--import-realm", str(file)]
    ) as gateway:
        assert gateway.process.wait(20) == 2
        assert "accessTokenLifespan" in gateway.log_text()
        assert not gateway.family()
    file.write_text('{"realm": "wrong", "accessTokenLifespan": 60}')
    with (
        start_gateway(tmp_path, seed=seed, flags=["--import-realm", str(file)]) as second,
        second.client() as client,
    ):
        assert client.get("/realms/wrong").status_code == 200


@pytest.mark.parametrize(
    "flags",
    [
        ["--spi-x509cert-lookup-provider", "squid"],
        ["--spi-x509cert-lookup--provider=squid"],
    ],
)
def test_an_unknown_lookup_is_refused_on_the_command_line(
    tmp_path: Path, seed: Path, flags: list[str]
) -> None:
    with start_gateway(tmp_path, seed=seed, wait=False, flags=flags) as gateway:
        assert gateway.process.wait(20) == 2
        assert "nginx or haproxy or apache" in gateway.log_text()


def test_it_also_runs_over_tcp(tmp_path: Path, seed: Path) -> None:
    port = free_port()
    with start_gateway(tmp_path, seed=seed, listen=f"127.0.0.1:{port}") as gateway:
        response = httpx2.get(f"http://127.0.0.1:{port}{REALM}", timeout=5)
        assert response.json()["realm"] == "master"
        assert "server" not in response.headers
        upgrade = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        }
        ignored = httpx2.get(f"http://127.0.0.1:{port}{REALM}", headers=upgrade, timeout=5)
        assert ignored.json()["realm"] == "master"
        assert gateway.stop() == 0


def test_without_redis_server_it_says_what_to_install(tmp_path: Path, seed: Path) -> None:
    said_path = {"PATH": str(tmp_path)}
    with start_gateway(tmp_path, seed=seed, wait=False, environment=said_path) as gateway:
        assert gateway.process.wait(20) == 2
        assert "redis-server" in gateway.log_text()
        assert not gateway.socket.exists()


def test_help_is_quick_because_it_imports_no_command() -> None:
    code = (
        "import sys, contextlib, gateway.cli\n"
        "with contextlib.suppress(SystemExit): gateway.cli.main(['--help'])\n"
        "sys.exit(bool({'sqlalchemy', 'starlette', 'cryptography'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=20).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_directory_above_the_socket_of_another_user_is_refused(tmp_path: Path) -> None:
    """Its owner can put another socket in the place of ours."""
    (tmp_path / "state" / "run").mkdir(mode=0o700, parents=True)
    os.chown(tmp_path / "state", 65534, -1)
    assert "belongs to another user" in refused(tmp_path)


@pytest.mark.parametrize(("workers", "shares"), [(1, False), (2, True)])
def test_the_supervisor_maps_the_program_only_for_many_workers(
    tmp_path: Path, seed: Path, workers: int, *, shares: bool
) -> None:
    """Budget: 100 MB for one worker and its supervisor, 60 MB for each further one."""
    with start_command(tmp_path, seed=seed, workers=workers) as gateway:
        library = "cryptography/hazmat"
        assert (library in _mapped(gateway.pid)) is shares
        assert library in _mapped(gateway.workers()[0])


def _mapped(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()
