"""Processes of a measurement: started on given cores, watched in /proc, ended by their number."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

SERVER_CORES = "0"
LOAD_CORES = "1"
BOTH_CORES = "0,1"

_TICKS = os.sysconf("SC_CLK_TCK")
_PATIENCE = 20.0
_PAUSE = 0.005


class BenchError(Exception):
    """A measurement that cannot be made or believed; `str()` says why."""


@contextmanager
def running(
    command: Sequence[str | Path],
    *,
    cores: str,
    log: Path,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server on `cores` until the block ends."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            ["taskset", "-c", cores, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment) if environment is not None else None,
            cwd=cwd,
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            for pid in family(process.pid):  # a script would leave its program behind
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()


def output_of(
    command: Sequence[str | Path],
    *,
    cores: str,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Return what a command prints; it may take `seconds`."""
    done = subprocess.run(
        ["taskset", "-c", cores, *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env=dict(environment) if environment is not None else None,
        cwd=cwd,
    )
    if done.returncode:
        said = f"{done.stdout[-800:]}\n{done.stderr[-800:]}".strip()
        raise BenchError(f"{' '.join(map(str, command[:4]))} failed: {said}")
    return done.stdout


def until(
    look: Callable[[], bool],
    what: str,
    process: subprocess.Popen[bytes],
    log: Path,
    seconds: float = _PATIENCE,
) -> None:
    """Wait until `look` says so; a process that ended or took too long is an error."""
    end = time.monotonic() + seconds
    while not look():
        if process.poll() is not None or time.monotonic() > end:
            raise BenchError(f"{what} did not come up: {log.read_text(errors='replace')[-1500:]}")
        time.sleep(_PAUSE)


def family(pid: int) -> list[int]:
    """Return a process and everything below it."""
    found = [pid]
    for known in found:
        try:
            for task in Path(f"/proc/{known}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def name_of(pid: int) -> str:
    """Return the program's name, as the kernel knows it."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process and everything below it has taken."""
    return sum(map(_processor_seconds, family(pid)))


def _processor_seconds(pid: int) -> float:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def proportional_bytes(pid: int) -> int:
    """Return a process's proportional set size: shared pages count by their share."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise BenchError(f"no Pss of process {pid}")
