"""Starts `realmgate` from a process that has the whole program imported already, and waits to fork.

Importing is most of what a start costs, and a gateway with one worker imports everything twice.
"""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
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
        prepare: Callable[[], None],
    ) -> None:
        # A daemon, for the end of the session must not wait for one that is left.
        self._process = _FORKS.Process(
            target=_run, args=(tuple(arguments), cwd, dict(env), log, prepare), daemon=True
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


def _run(
    arguments: tuple[str, ...],
    cwd: Path,
    env: dict[str, str],
    log: Path,
    prepare: Callable[[], None],
) -> None:
    """Become what the shell would have started."""
    gc.enable()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    sys.argv = ["realmgate", *arguments]
    prepare()
    main(prog_name="realmgate")
