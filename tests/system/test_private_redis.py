"""The Redis of a gateway: it comes back, it hinders nobody, and one that evicts is refused."""

import os
import signal
import time
from pathlib import Path

from tests.support.gateway_process import Gateway, is_running, start_gateway, until
from tests.support.redis_server import RedisServer
from tests.support.servers import running


def _private_redis(gateway: Gateway) -> int:
    (pid,) = set(gateway.family()) - set(gateway.workers())
    return pid


def _break_append_only_file(gateway: Gateway) -> None:
    (manifest,) = (gateway.state_dir / "redis").glob("*/*.manifest")
    manifest.write_text("this is no manifest\n")


def _attempts(gateway: Gateway) -> int:
    return [line["event"] for line in gateway.log()].count("the private redis ended")


def test_a_redis_that_cannot_start_stops_no_worker_and_no_end(tmp_path: Path, seed: Path) -> None:
    """Attack F8: the supervisor waits for nobody while it brings its Redis back."""
    with start_gateway(tmp_path, seed=seed, shutdown_grace="1s") as gateway:
        (worker,) = gateway.workers()
        _break_append_only_file(gateway)
        os.kill(_private_redis(gateway), signal.SIGKILL)
        until(lambda: _attempts(gateway) > 1, "the broken Redis is not tried again", 5)
        os.kill(worker, signal.SIGKILL)
        until(lambda: set(gateway.workers()) - {worker}, "the worker does not come back", 3)
        began = time.monotonic()
        assert gateway.stop() == 0
        assert time.monotonic() - began < 3


def test_a_redis_that_cannot_start_is_tried_less_and_less_often(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        _break_append_only_file(gateway)
        os.kill(_private_redis(gateway), signal.SIGKILL)
        until(lambda: _attempts(gateway) > 3, "the broken Redis is not tried again", 8)
        told = [line for line in gateway.log() if line["event"] == "the private redis ended"]
        pauses = [line["restart_in"] for line in told]
        assert pauses == sorted(set(pauses)), "each pause is longer"


def test_a_redis_that_cannot_start_at_first_ends_the_start(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        _break_append_only_file(gateway)
        redis = _private_redis(gateway)
        os.kill(redis, signal.SIGKILL)
        until(lambda: not is_running(redis), "Redis is still there")
        gateway.stop()
    with start_gateway(tmp_path, seed=seed, wait=False) as gateway:
        assert gateway.process.wait(5) == 3
        assert "redis" in gateway.log_text()


def test_a_redis_that_evicts_is_refused_with_the_reason(tmp_path: Path, seed: Path) -> None:
    """A flood of keys must not push out lockouts and codes."""
    with running(RedisServer(**{"maxmemory-policy": "allkeys-lru"})) as server:
        url = server.url.reveal()
        with start_gateway(tmp_path, seed=seed, wait=False, redis_url=url) as gateway:
            assert gateway.process.wait(10) == 2
            said = gateway.log_text()
    for word in ("redis maxmemory-policy", "allkeys-lru", "noeviction"):
        assert word in said


def test_a_late_redis_that_evicts_makes_the_gateway_not_ready(tmp_path: Path, seed: Path) -> None:
    """It was away at the start, so nothing could be asked of it then."""
    server = RedisServer(**{"maxmemory-policy": "allkeys-lru"})
    try:
        url = server.url.reveal()
        with start_gateway(tmp_path, seed=seed, redis_url=url) as gateway:
            server.start()
            until(lambda: gateway.health()[0] == 503, "it stays ready", 5)
            for _ in range(3):
                reason = _reason(gateway, "redis-server")
            assert "maxmemory-policy" in reason
            assert "allkeys-lru" in reason
            told = [line for line in gateway.log() if line["event"] == "redis is not suitable"]
            assert [line["reason"] for line in told] == [reason], "told once"
            with server.client() as client:
                client.config_set("maxmemory-policy", "noeviction")
            until(lambda: gateway.health()[0] == 200, "it does not recover", 5)
    finally:
        server.remove()


def _reason(gateway: Gateway, name: str) -> str:
    checks = gateway.health()[1]["checks"]
    return str(next(check["data"]["reason"] for check in checks if check["name"] == name))
