"""Runs the real `realmgate start` in a state folder of its own, on free ports."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest

from tests.support.forked_gateway import ForkedGateway
from tests.support.nginx_front import NginxFront, NginxTransport, find_front
from tests.support.ports import free_port

_DEADLINE = 60.0
_PAUSE = 0.02
_WITHOUT_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts no server. A client without it reads the system's authorities, which takes 20 ms."""
_PROXY = {"x-forwarded-proto": "https", "x-forwarded-for": "127.0.0.1"}

Found = TypeVar("Found")


class GatewayFailed(AssertionError):
    """The gateway ended, or did not become ready."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway."""

    process: subprocess.Popen[bytes] | ForkedGateway
    state_dir: Path
    management_url: str
    log_file: Path
    front: NginxFront | None = None
    """The nginx that clients go through, with `--through-nginx`."""

    @property
    def socket(self) -> Path:
        """The unix socket the proxy uses by default."""
        return self.state_dir / "run" / "gateway.sock"

    def has_listener(self) -> bool:
        """Tell whether a process has the socket, such as a worker that outlives its supervisor."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    @property
    def pid(self) -> int:
        """The supervisor."""
        return self.process.pid

    def client(self, **headers: str) -> httpx2.Client:
        """Return a client that talks to the unix socket, as the proxy does.

        With `--through-nginx` it goes through nginx, which writes the headers of the proxy.
        """
        sent = httpx2.Headers(_PROXY)
        sent.update(headers)
        transport: httpx2.BaseTransport = (
            httpx2.HTTPTransport(verify=_WITHOUT_TLS, uds=str(self.socket))
            if self.front is None
            else NginxTransport(self.front)
        )
        return httpx2.Client(
            transport=transport,
            base_url="http://gateway",
            headers=sent,
            timeout=_DEADLINE,
        )

    def caller_address(self, forwarded: str) -> str:
        """Return the address that the gateway sees of a caller in `X-Forwarded-For`."""
        return forwarded if self.front is None else self.front.address_of(forwarded)

    def health(self, name: str = "ready") -> tuple[int, dict[str, Any]]:
        """Ask the management listener; 0 where it does not answer."""
        try:
            response = self._ask_management(f"health/{name}", timeout=2)
        except httpx2.TransportError:
            return 0, {}
        return response.status_code, response.json()

    def metrics(self) -> str:
        """Return what Prometheus would read."""
        return self._ask_management("metrics", timeout=5).text

    def _ask_management(self, path: str, *, timeout: float) -> httpx2.Response:
        url = f"{self.management_url}/{path}"
        return httpx2.get(url, timeout=timeout, verify=_WITHOUT_TLS)

    def log_text(self) -> str:
        """Return everything the gateway has written."""
        return self.log_file.read_text(errors="replace")

    def log(self) -> list[dict[str, Any]]:
        """Return the lines of the log."""
        whole = self.log_text().rpartition("\n")[0]  # the last line may be half written
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    def counter_files(self) -> list[Path]:
        """Return the files in which the workers count."""
        memory = Path("/dev/shm")  # noqa: S108 - where the gateway makes them
        return list(memory.glob(f"realmgate-metrics-{self.pid}-*/*.db"))

    def workers(self) -> list[int]:
        """Return the pids of the workers that are ready and alive."""
        ready = [line["worker"] for line in self.log() if line["event"] == "worker ready"]
        return [pid for pid in ready if is_running(pid)]

    def family(self) -> list[int]:
        """Return every process below the supervisor."""
        return descendants(self.pid)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; returns its exit code."""
        self.process.send_signal(number)
        return self.process.wait(_DEADLINE)


@contextmanager
def start_gateway(
    tmp_path: Path,
    *,
    flags: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    seed: Path | None = None,
    wait: bool = True,
    program: Sequence[str] = (),
    prepare: Callable[[], None] | None = None,
    **settings: object,
) -> Iterator[Gateway]:
    """Start a gateway with `settings` (`workers=2`), wait until it is ready, and end it at last.

    The state folder is `tmp_path / "state"` unless `state_dir` is among the settings; `seed` is
    one to begin with, for a start that need not make schema, keys and administrator. `program` is
    what a Python of its own runs; without it the gateway is forked from one that has all imported,
    and calls `prepare` before it begins.
    """
    settings = {
        "state_dir": tmp_path / "state",
        "management_port": free_port(),
        "admin_password": "the administrator's word",
    } | settings
    state_dir = Path(str(settings["state_dir"]))
    if seed is not None and not state_dir.exists():
        _plant(seed, state_dir)
    log_file = tmp_path / f"gateway-{settings['management_port']}.log"
    variables = {
        "PATH": os.environ["PATH"],
        **{f"REALMGATE_{name.upper()}": str(value) for name, value in settings.items()},
        **(environment or {}),
    }
    process: subprocess.Popen[bytes] | ForkedGateway
    if program:
        command = [sys.executable, *program, "start", *flags]
        process = _start_process(command, tmp_path, variables, log_file)
    else:
        process = ForkedGateway(["start", *flags], tmp_path, variables, log_file, prepare)
    url = f"http://127.0.0.1:{settings['management_port']}"
    front = find_front(state_dir, settings)
    gateway = Gateway(process, state_dir, url, log_file, front)
    try:
        if wait:
            until(lambda: _ready(gateway), f"the gateway is not ready: {log_file}")
        yield gateway
    finally:
        if front is not None:
            front.close()
        if process.poll() is None:
            _end(gateway)


start_command = partial(start_gateway, program=("-m", "gateway"))
"""Start a gateway as the shell does, for tests of the process itself."""


def _start_process(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], log_file: Path
) -> subprocess.Popen[bytes]:
    with log_file.open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _end(gateway: Gateway) -> None:
    """End a gateway that no test looks at any more: its workers need not drain for half a second.

    The supervisor gets its signal first, so it does not replace them.
    """
    gateway.process.terminate()
    for worker in set(gateway.workers()) & set(gateway.family()):
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    try:
        gateway.process.wait(_DEADLINE)
    except subprocess.TimeoutExpired:
        gateway.process.kill()
        gateway.process.wait()


def until(look: Callable[[], Found], otherwise: str, deadline: float = _DEADLINE) -> Found:
    """Call `look` until it returns something true; fail after `deadline` seconds."""
    end = time.monotonic() + deadline
    while not (found := look()):
        if time.monotonic() > end:
            raise GatewayFailed(otherwise)
        time.sleep(_PAUSE)
    return found


def is_running(pid: int) -> bool:
    """Tell whether the process exists and is no zombie."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended before, or while it was read
        return False


def descendants(pid: int) -> list[int]:
    """Return the processes below `pid`."""
    try:
        tasks = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    children = [int(child) for child in tasks.split()]
    return children + [below for child in children for below in descendants(child)]


def _plant(seed: Path, state_dir: Path) -> None:
    for part in ("realmgate.db", "secrets/encryption.key"):
        target = state_dir / part
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(seed / part, target)


def _ready(gateway: Gateway) -> bool:
    code = gateway.process.poll()
    if code is not None:
        raise GatewayFailed(f"the gateway ended with {code}: {gateway.log_text()}")
    return gateway.health()[0] == httpx2.codes.OK


@pytest.fixture(scope="session")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a state folder with the realm `master` and its administrator."""
    with start_gateway(tmp_path_factory.mktemp("seed")) as gateway:
        gateway.stop()
    return gateway.state_dir


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory, seed: Path) -> Iterator[Gateway]:
    """Run one gateway for all tests that change nothing about it."""
    with start_gateway(tmp_path_factory.mktemp("gateway"), seed=seed) as running:
        yield running
