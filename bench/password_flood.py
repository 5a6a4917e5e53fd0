"""Wrong passwords without end, over many connections from one address.

A closed loop: each connection sends the next request as soon as it has an answer. Runs in a process
of its own until it is ended. `%d` in the body stands for the number of the connection.

python -m bench.password_flood PORT CONNECTIONS ADDRESS PATH BODY
"""

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.load import Requests
from bench.processes import LOAD_CORES, running
from bench.workspace import ROOT

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_PAUSE = 0.05
"""Seconds before a connection that was closed is opened again."""


@contextmanager
def password_flood(port: int, requests: Requests, address: str, log: Path) -> Iterator[None]:
    """Send requests to a port of the load's nginx until the block ends."""
    command = [sys.executable, "-m", "bench.password_flood", str(port), str(requests.connections)]
    command += [address, requests.path, requests.body]
    with running(command, cores=LOAD_CORES, log=log, cwd=ROOT):
        yield


async def _repeat(port: int, address: str, request: bytes) -> None:
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=(address, 0)
            )
            try:
                while True:
                    writer.write(request)
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = _LENGTH.search(head)
                    await reader.readexactly(int(length[1]) if length else 0)
            finally:
                writer.close()
        await asyncio.sleep(_PAUSE)


async def _flood(port: int, connections: int, address: str, path: str, body: str) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(connections):
            content = body.replace("%d", str(number + 1))
            head = (
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n"
                "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
            )
            group.create_task(_repeat(port, address, (head + content).encode()))


if __name__ == "__main__":
    asyncio.run(_flood(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:6]))
