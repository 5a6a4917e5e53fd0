"""A real redis-server for the tests: its own process, a unix socket, nothing shared."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from gateway.domain.secrets import Secret
from tests.support.servers import running

_DEADLINE = 10.0


class RedisServer:
    """One server in a folder of its own; `options` are those of redis.conf."""

    def __init__(self, **options: str) -> None:
        # A short path, for a socket's path may have 107 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="rg-redis-", dir="/tmp"))
        self._options = {
            "port": "0",
            "unixsocket": str(self._folder / "redis.sock"),
            "dir": str(self._folder),
            "save": "",
            "appendonly": "no",
            **options,
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        """Return where the server writes what it holds."""
        return self._folder

    @property
    def pid(self) -> int:
        """Return the server's process."""
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> Secret:
        """Return the URL for clients."""
        return Secret(f"unix://{self._folder}/redis.sock")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        binary = shutil.which("redis-server") or shutil.which("valkey-server")
        if binary is None:
            pytest.fail("redis-server is not installed: apt-get install redis-server", False)
        options = [part for name, value in self._options.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen(
            [binary, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + _DEADLINE
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                pytest.fail("redis-server did not start", pytrace=False)
            time.sleep(0.01)

    def _answers(self) -> bool:
        with self.client() as client:
            try:
                client.ping()
            except redis.AuthenticationError:
                return True
            except redis.RedisError:
                return False
        return True

    def client(self) -> redis.Redis:
        """Return a plain client to look into the server with."""
        return redis.Redis.from_url(self.url.reveal(), decode_responses=True, protocol=2)

    def stop(self) -> None:
        """Kill the server as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_DEADLINE)
            self._process = None

    def remove(self) -> None:
        """Stop the server and delete its files."""
        self.stop()
        shutil.rmtree(self._folder)


@pytest.fixture(scope="session")
def _shared_redis() -> Iterator[RedisServer]:
    with running(RedisServer()) as server:
        yield server


@pytest.fixture
def redis_server(_shared_redis: RedisServer) -> RedisServer:
    """Return an empty server that the whole session shares; do not stop it."""
    with _shared_redis.client() as client:
        client.flushall()
    return _shared_redis


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """Run a server for one test alone, which may stop and start it."""
    with running(RedisServer()) as server:
        yield server
