"""A redis-server on a unix socket that starts empty and keeps nothing on disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.processes import running, until


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A running server."""

    socket: Path
    pid: int


@contextmanager
def empty_redis(folder: Path, cores: str) -> Iterator[RedisServer]:
    """Run a server on these cores to the end of the block."""
    server, log = folder / "redis.sock", folder / "log"
    command = ["redis-server", "--port", "0", "--unixsocket", str(server)]
    command += ["--save", "", "--appendonly", "no", "--dir", str(folder)]
    with running(command, cores=cores, log=log) as process:
        until(server.exists, "redis-server", process, log)
        yield RedisServer(server, process.pid)
