"""The doors for people: scripts/run and scripts/stop, with the real stack behind them."""

import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
import pytest

from scripts.demonstration.https import HttpsClient
from tests.support.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
DEADLINE = 120.0
PORTS = ("HTTPS", "MTLS", "SELF_SIGNED", "HTTP", "MANAGEMENT", "DEMO")
UP = "Ctrl-C stops everything."
LAST_OF_THE_DEMONSTRATION = "the browser, to the sign-in page"
RUN_ENV = {
    *("URL", "MTLS_URL", "SELF_SIGNED_URL", "MANAGEMENT_URL", "CA", "CLIENT_CERT", "CLIENT_KEY"),
    *("REALM", "CLIENT_ID", "ADMIN", "ADMIN_PASSWORD", "STATE_DIR"),
    *("LISTEN", "PUBLIC_URL", "MTLS_PUBLIC_URL", "SITE_URL"),
    *("CLIENT_CA_FILE", "CLIENT_CRL_FILE", "PROXY_SECRET_FILE"),
    *(f"{port}_PORT" for port in PORTS),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A state folder and free ports: where one copy of the stack runs."""

    state: Path
    environment: dict[str, str]

    def command(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a script to its end."""
        return self._run(str(ROOT / "scripts" / name), *arguments)

    def realmgate(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the gateway to its end."""
        return self._run(sys.executable, "-m", "gateway", *arguments)

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd="/",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=DEADLINE,
        )

    def port(self, name: str) -> int:
        """Return the port of a listener."""
        return int(self.environment[f"REALMGATE_{name}_PORT"])

    def pid(self, name: str) -> int:
        """Return the process that scripts/run remembered."""
        return int((self.state / "run" / f"{name}.process").read_text().split()[0])

    def processes(self) -> list[str]:
        """Return the command lines of all processes that know the state folder."""
        return [
            (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            for process in Path("/proc").glob("[0-9]*")
            if _mentions(process, os.fsencode(self.state))
        ]


def _mentions(process: Path, text: bytes) -> bool:
    try:
        return any(
            text in (process / name).read_bytes() for name in ("cmdline", "environ")
        ) or any(  # nginx's workers overwrite both, but keep their logs open
            os.fsencode(file.readlink()).startswith(text) for file in (process / "fd").iterdir()
        )
    except OSError:
        return False


@pytest.fixture(scope="module")
def first_run(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Place, "subprocess.CompletedProcess[str]"]:
    """Run everything once in an empty place."""
    place = _make_place(tmp_path_factory.mktemp("first") / "state")
    return place, place.command("run", "--once")


@pytest.fixture
def place(
    first_run: tuple[Place, "subprocess.CompletedProcess[str]"], tmp_path: Path
) -> Iterator[Place]:
    """Make a place with what the first run made, and leave nothing running in it."""
    yield from _prepared_place(first_run, tmp_path / "state")


@pytest.fixture
def second_place(
    first_run: tuple[Place, "subprocess.CompletedProcess[str]"], tmp_path: Path
) -> Iterator[Place]:
    """Make another one beside it."""
    yield from _prepared_place(first_run, tmp_path / "second")


def _prepared_place(
    first_run: tuple[Place, "subprocess.CompletedProcess[str]"], state: Path
) -> Iterator[Place]:
    made = _make_place(state)
    kept = ("certs", "secrets", "realmgate.db", "run")
    shutil.copytree(
        first_run[0].state,
        made.state,
        ignore=lambda folder, names: (
            set(names).difference(kept) if Path(folder) == first_run[0].state else set()
        ),
    )
    try:
        yield made
    finally:
        made.command("stop")


def _make_place(state: Path) -> Place:
    ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REALMGATE_", "KC_"))
    }
    environment |= {f"REALMGATE_{name}_PORT": str(port) for name, port in ports.items()}
    return Place(state, environment | {"REALMGATE_STATE_DIR": str(state)})


def run_in_terminal(place: Place, until: str = UP) -> tuple["subprocess.Popen[bytes]", int]:
    """Start scripts/run in a terminal of its own; return it and our end, once it shows `until`."""
    ours, theirs = os.openpty()
    # Where the suite runs under nohup, its children would not hear of a closed terminal.
    heard = ["env", "--default-signal=HUP"]
    process = subprocess.Popen(
        [*heard, "setsid", "--ctty", "--wait", ROOT / "scripts/run"],
        cwd="/",
        env=place.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    _read_until(ours, until)
    return process, ours


def _read_until(terminal: int, until: str) -> None:
    shown = ""
    deadline = time.monotonic() + DEADLINE
    while until not in shown:
        if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
            pytest.fail(f"scripts/run does not show {until!r}:\n{shown}", pytrace=False)
        try:
            shown += os.read(terminal, 65536).decode(errors="replace")
        except OSError:
            pytest.fail(f"scripts/run ended early:\n{shown}", pytrace=False)


def _rest_of(terminal: int) -> str:
    shown = b""
    with suppress(OSError):  # what a terminal reads as when its other end is closed
        while chunk := os.read(terminal, 65536):
            shown += chunk
    return shown.decode(errors="replace")


def _await_end(place: Place) -> None:
    deadline = time.monotonic() + DEADLINE
    while place.processes() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert place.processes() == []


def test_once_shows_a_bound_token_and_a_service_and_ends(
    first_run: tuple[Place, "subprocess.CompletedProcess[str]"],
) -> None:
    place, done = first_run
    assert done.returncode == 0, done.stdout
    for expected in (
        "✓ 200        a token for demo-device",
        "◀ the binding",
        "✓ signature",
        "✓ active     to demo-device with the same certificate",
        "✓ refused    device-2 says it is demo-device",
        "✓ refused    a caller without any certificate",
        "✓ inactive   device-2 as itself",
        "invalid_token: Client certificate missing, or its thumbprint",
        "✓ redirected a browser, to the sign-in page",
        "✓ public     the same at /public",
        "     Remote-User             ada  ◀ not root",
        "✓ identity   ada, from the gateway alone",
        "✓ 200        by its token, bound to its certificate",
        "✓ 200        by its certificate alone",
        "✓ refused    the token of device-1 with the certificate of device-2",
        "✓ refused    the token of device-1 without a certificate",
        "401, certificate_mismatch: The token is bound to another certificate",
        "✓ refused    device-2 as itself, by its certificate",
        "✓ 200        a copy of the cookie, while the session lasts",
        "✓ refused    the same cookie after that",
        LAST_OF_THE_DEMONSTRATION,
    ):
        assert expected in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert place.processes() == []
    assert not (place.state / "run.env").exists()
    left = {path.suffix for path in (place.state / "run").iterdir()}
    assert left.isdisjoint({".process", ".pid", ".sock"})
    assert (place.state / "run/lock").exists()


def test_once_fails_where_a_step_is_not_as_it_should_be(place: Place) -> None:
    for suffix in ("crt", "key"):
        shutil.copy(
            place.state / f"certs/device-2.{suffix}", place.state / f"certs/device-1.{suffix}"
        )
    done = place.command("run", "--once")
    assert done.returncode == 1
    assert "✗ not as expected: 401" in done.stdout
    assert place.processes() == []


def test_secrets_are_their_owners_alone_and_never_shown(
    first_run: tuple[Place, "subprocess.CompletedProcess[str]"],
) -> None:
    place, done = first_run
    assert place.state.stat().st_mode & 0o077 == 0
    for name in ("admin.password", "ada.password", "demo-service.secret", "proxy.secret"):
        secret = place.state / "secrets" / name
        assert secret.stat().st_mode & 0o777 == 0o600
        for shown in (done.stdout, (place.state / "logs/gateway.log").read_text()):
            assert secret.read_text().strip() not in shown


def test_detached_it_runs_until_stopped_and_reports_a_second_run(
    place: Place, second_place: Place
) -> None:
    """Its secret may have been changed over the admin API since the last start."""
    secret = place.state / "secrets/demo-service.secret"
    current = secret.read_text()
    secret.write_text("stale\n")
    # As an older version made it: without the name of the protected host.
    place.realmgate("certs", "init", "--force", "--directory", str(place.state / "certs"))
    assert place.command("run", "--detach").returncode == 0
    assert secret.read_text() == current
    assert secret.stat().st_mode & 0o777 == 0o600
    run_env = place.state / "run.env"
    assert run_env.stat().st_mode & 0o777 == 0o600
    facts = _facts(place)
    assert set(facts) == {f"REALMGATE_{name}" for name in RUN_ENV}
    assert all(facts.values())
    assert httpx2.get(facts["REALMGATE_MANAGEMENT_URL"] + "/health/ready").status_code == 200
    _assert_the_service_is_protected(place, facts["REALMGATE_SITE_URL"])
    _assert_commands_speak_of_this_gateway(place, facts)
    _assert_a_second_copy_starts_in_a_shell_that_sourced(facts, second_place)

    again = place.command("run", "--once")
    assert again.returncode == 1
    assert f"running already with the state folder {place.state}" in again.stdout
    assert httpx2.get(facts["REALMGATE_MANAGEMENT_URL"] + "/health/ready").status_code == 200

    assert place.command("stop").stdout == "Realmgate has stopped.\n"
    assert place.processes() == []
    assert not run_env.exists()
    stopped_twice = place.command("stop")
    assert stopped_twice.returncode == 0
    assert "is not running" in stopped_twice.stdout


def _assert_the_service_is_protected(place: Place, url: str) -> None:
    client = HttpsClient(place.state / "certs")
    public = client.request("GET", f"{url}/public", headers={})
    assert (public.status, b"This page is public" in public.content) == (200, True)
    assert client.request("GET", f"{url}/", headers={}).status == 401


def _assert_commands_speak_of_this_gateway(place: Place, facts: dict[str, str]) -> None:
    sourced = replace(place, environment=place.environment | facts)
    examined = sourced.realmgate("doctor", "--nginx", str(place.state / "nginx"))
    assert examined.returncode == 0, examined.stdout
    in_force = sourced.realmgate("settings", "show").stdout
    listen, public_url = facts["REALMGATE_LISTEN"], facts["REALMGATE_PUBLIC_URL"]
    assert listen.endswith("/gateway.sock")
    assert Path(listen.removeprefix("unix:")).is_socket()
    assert f":{place.port('HTTPS')}" in public_url
    for fact in (listen, public_url, str(place.state / "certs/ca.crl")):
        assert fact in in_force
    elsewhere = {"PATH": os.environ["PATH"], **facts}
    listed = replace(place, environment=elsewhere).realmgate("keys", "list", "--realm", "demo")
    assert listed.returncode == 0, listed.stdout
    assert "ACTIVE" in listed.stdout


def _assert_a_second_copy_starts_in_a_shell_that_sourced(
    facts: dict[str, str], second_place: Place
) -> None:
    """Nothing of the first is taken for a choice that was made for the second."""
    (second_place.state / "secrets/admin.password").unlink()
    sourced = replace(second_place, environment=facts | second_place.environment)
    started = sourced.command("run", "--detach")
    assert started.returncode == 0, started.stdout
    second = _facts(second_place)
    known_to_both = {"REALMGATE_REALM", "REALMGATE_CLIENT_ID", "REALMGATE_ADMIN"}
    shared = {name for name, value in second.items() if value == facts[name]}
    assert shared == known_to_both
    assert httpx2.get(second["REALMGATE_MANAGEMENT_URL"] + "/health/ready").status_code == 200
    assert sourced.command("stop").stdout == "Realmgate has stopped.\n"


def _facts(place: Place) -> dict[str, str]:
    lines = shlex.split((place.state / "run.env").read_text())
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize("listener", ["MTLS", "MANAGEMENT"])
def test_a_port_in_use_is_named_with_its_variable(place: Place, listener: str) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", place.port(listener)))
        other.listen()
        done = place.command("run", "--once")
    assert done.returncode == 1
    assert f"Port {place.port(listener)} is in use: set REALMGATE_{listener}_PORT" in done.stdout
    assert len(done.stdout.splitlines()) == 1
    assert place.processes() == []


def test_ctrl_c_ends_everything(place: Place) -> None:
    process, terminal = run_in_terminal(place)
    os.write(terminal, b"\x03")
    assert process.wait(DEADLINE) == 0
    os.close(terminal)
    assert place.processes() == []


def test_sigterm_ends_everything(place: Place) -> None:
    process, terminal = run_in_terminal(place)
    os.kill(place.pid("run"), signal.SIGTERM)
    assert process.wait(DEADLINE) == 0
    os.close(terminal)
    assert place.processes() == []


def test_a_closed_terminal_ends_everything(place: Place) -> None:
    process, terminal = run_in_terminal(place)
    os.close(terminal)
    process.wait(DEADLINE)
    _await_end(place)


def test_the_death_of_a_part_is_told_and_ends_the_rest(place: Place) -> None:
    """The part is the gateway; nginx dies during the demonstration, in the next test."""
    process, terminal = run_in_terminal(place)
    os.kill(place.pid("gateway"), signal.SIGKILL)
    assert process.wait(DEADLINE) == 1
    assert "The gateway has ended." in _rest_of(terminal)
    os.close(terminal)
    _await_end(place)


def test_a_death_during_the_demonstration_is_told_too(place: Place) -> None:
    process, terminal = run_in_terminal(place, "A stolen secret does not help")
    os.kill(place.pid("run"), signal.SIGSTOP)  # it finds both ended when it goes on
    _read_until(terminal, LAST_OF_THE_DEMONSTRATION)
    os.kill(place.pid("nginx"), signal.SIGKILL)
    os.kill(place.pid("run"), signal.SIGCONT)
    assert process.wait(DEADLINE) == 1
    assert "nginx has ended." in _rest_of(terminal)
    os.close(terminal)
    _await_end(place)


def test_stop_leaves_a_stranger_with_a_remembered_number_alone(place: Place) -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        (place.state / "run" / "gateway.process").write_text(f"{stranger.pid} 1\n")
        done = place.command("stop")
        alive = stranger.poll() is None
        stranger.kill()
    assert alive
    assert "is not running" in done.stdout


@pytest.mark.parametrize("options", [("--forever",), ("--detach", "--once")])
def test_options_it_does_not_know_are_refused_with_the_usage(
    place: Place, options: tuple[str, ...]
) -> None:
    done = place.command("run", *options)
    assert done.returncode == 2
    assert done.stdout.startswith("Usage: scripts/run")


def test_without_a_process_table_it_says_so_and_starts_nothing(tmp_path: Path) -> None:
    place = _make_place(tmp_path / "state")
    hide = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system gives nobody a mount namespace of their own")
    done = subprocess.run(
        [*hide, "sh", "-c", f"mount -t tmpfs none /proc && {ROOT}/scripts/run --once"],
        env=place.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    assert done.returncode == 1
    assert "/proc/self/stat cannot be read" in done.stderr
    assert not place.state.exists()
