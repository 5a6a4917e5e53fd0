"""How workers are replaced and ended, with workers that do nothing else."""

import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.gateway_process import descendants, is_running, until

_PROGRAM = """
import os, random, signal, sys, time
from datetime import timedelta
from gateway.supervisor import processes

processes._KILL_MARGIN = timedelta(0)

def work(lifeline):
    if sys.argv[1] == "ignores SIGTERM":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        time.sleep(random.Random(os.getpid()).random() / 50)
    os.write(lifeline.ready, b"1")
    os.close(lifeline.ready)
    time.sleep(60)
    return 0

patience = timedelta(seconds=float(sys.argv[2]))
sys.exit(processes.Supervisor(work, 1, patience, lambda: None, lambda: None).run())
"""


@contextmanager
def _supervisor(behavior: str, patience: float) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, behavior, str(patience)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        left = descendants(process.pid)
        process.kill()
        process.wait(10)
        until(lambda: not any(map(is_running, left)) or _kill(left), "workers stay", 10)


def _kill(pids: list[int]) -> bool:
    for pid in filter(is_running, pids):
        subprocess.run(["kill", "-KILL", str(pid)], check=False, timeout=10)
    return False


def _one_worker(process: "subprocess.Popen[bytes]") -> Callable[[], list[int]]:
    def look() -> list[int]:
        found = descendants(process.pid)
        return found if len(found) == 1 else []

    return look


def test_a_replaced_worker_that_does_not_end_is_killed() -> None:
    with _supervisor("ignores SIGTERM", 0.2) as supervisor:
        (first,) = until(_one_worker(supervisor), "no worker", 10)
        until(lambda: _handles(supervisor.pid, signal.SIGHUP), "it does not get ready", 10)
        supervisor.send_signal(signal.SIGHUP)
        until(lambda: not is_running(first), "the replaced worker stays", 10)
        until(_one_worker(supervisor), "not one worker", 10)
        supervisor.send_signal(signal.SIGTERM)
        assert supervisor.wait(10) == 0


def test_repeated_replacements_keep_the_number_of_workers() -> None:
    chosen = random.Random(8)  # noqa: S311 - nothing secret
    with _supervisor("ends", 10) as supervisor:
        until(_one_worker(supervisor), "no worker", 10)
        for _ in range(150):
            supervisor.send_signal(signal.SIGHUP)
            _pause(chosen.random() / 50)
        until(_one_worker(supervisor), "not one worker", 10)
        supervisor.send_signal(signal.SIGTERM)
        assert supervisor.wait(5) == 0


def _handles(pid: int, number: signal.Signals) -> bool:
    with open(f"/proc/{pid}/status", encoding="ascii") as status:  # noqa: PTH123 - a proc file
        caught = next(line for line in status if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def _pause(seconds: float) -> None:
    signal.sigtimedwait([], seconds)
