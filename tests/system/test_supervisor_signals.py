"""Signals that come too early, twice or all at once. By the real `realmgate start`."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.gateway_process import Gateway, is_running, until
from tests.support.gateway_process import start_command as start_gateway


def _redis_runs(gateway: Gateway) -> bool:
    return any("redis" in _name(pid) for pid in gateway.family())


def _prepares(gateway: Gateway) -> bool:
    return any("redis" not in _name(pid) for pid in gateway.family())


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except FileNotFoundError:
        return "redis"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", [_redis_runs, _prepares])
def test_an_interrupted_start_leaves_no_process_and_no_socket(
    tmp_path: Path, seed: Path, moment: Callable[[Gateway], bool], number: signal.Signals
) -> None:
    with start_gateway(tmp_path, seed=seed, wait=False) as gateway:
        until(lambda: moment(gateway), "it does not begin")
        family = gateway.family()
        assert gateway.stop(number) == 0
        assert not [pid for pid in family if is_running(pid)]
        assert not gateway.socket.exists()
        assert "Traceback" not in gateway.log_text()


def test_sighup_during_the_start_does_not_end_it(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed, wait=False) as gateway:
        until(lambda: _redis_runs(gateway), "it does not begin")
        gateway.process.send_signal(signal.SIGHUP)
        until(lambda: gateway.health()[0] == 200, "it does not get ready")


def test_sighup_during_a_replacement_keeps_the_worker_count(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        before = gateway.workers()
        for again in range(3):
            gateway.process.send_signal(signal.SIGHUP)
            until(lambda n=again: _told(gateway, "replacing workers") > n, "it hears nothing")  # type: ignore[misc] # a bound default
        until(lambda: not [pid for pid in before if is_running(pid)], "the old worker stays")
        until(lambda: len(gateway.family()) == 2, "more than one worker and Redis", 10)
        assert len(gateway.workers()) == 1
        assert gateway.health()[0] == 200
        os.kill(gateway.workers()[0], signal.SIGKILL)
        until(lambda: _told(gateway, "worker died") == 1 and gateway.workers(), "no new worker")


def _told(gateway: Gateway, event: str) -> int:
    return [line["event"] for line in gateway.log()].count(event)
