"""Starts `realmgate` from a process that has the whole program imported already, and waits to fork.

Importing is most of what a start costs, and a gateway with one worker imports everything twice.
"""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.cli import main

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.support.imported_gateway"])


class ForkedGateway:
    """A running command `realmgate`, with the methods of `Popen` that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        prepare: Callable[[], None] | None = None,
        *,
        errors: Path | None = None,
        typed: str = "",
    ) -> None:
        """Start it. Its errors go to `log` with its output unless `errors` is another file.

        `typed` is what it reads from its standard input.
        """
        streams = _Streams(log, errors, typed)
        # A daemon, for the end of the session must not wait for one that is left.
        self._process = _FORKS.Process(
            target=_run, args=(tuple(arguments), cwd, dict(env), streams, prepare), daemon=True
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code of a process that has ended."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("realmgate", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def run_command(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    typed: str = "",
    timeout: float = 60,
) -> "subprocess.CompletedProcess[str]":
    """Run a command of `realmgate` to its end."""
    with tempfile.TemporaryDirectory(prefix="rg-command-") as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        process = ForkedGateway(arguments, cwd, env, output, errors=errors, typed=typed)
        code = process.wait(timeout)
        return subprocess.CompletedProcess(
            ["realmgate", *arguments], code, output.read_text(), errors.read_text()
        )


@dataclass(frozen=True, slots=True)
class _Streams:
    """Where a process reads and writes."""

    output: Path
    errors: Path | None
    typed: str

    def open(self) -> None:
        """Put them in place of this process's own."""
        read, write = os.pipe()
        os.write(write, self.typed.encode())
        os.close(write)
        output = os.open(self.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        errors = os.dup(output)
        if self.errors is not None:
            errors = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for standard, file in enumerate((read, output, errors)):
            os.dup2(file, standard)
            os.close(file)


def _run(
    arguments: tuple[str, ...],
    cwd: Path,
    env: dict[str, str],
    streams: _Streams,
    prepare: Callable[[], None] | None,
) -> None:
    """Become what the shell would have started."""
    gc.enable()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    streams.open()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a fork has none
    sys.argv = ["realmgate", *arguments]
    if prepare is not None:
        prepare()
    main(prog_name="realmgate")
