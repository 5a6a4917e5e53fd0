"""Latency under Poisson arrivals: requests come when they come, whether or not others are done.

A closed loop waits for slow answers and so hides them. Here each request has its moment; its
latency counts from then. A `%d` in the body stands for the numbers from 1 to COUNT, in order.
Runs in a process of its own and prints JSON.

python -m bench.open_loop PORT RATE SECONDS PATH BODY COUNT
"""

import asyncio
import json
import random
import selectors
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle

from bench.load import Requests
from bench.processes import LOAD_CORES, output_of
from bench.workspace import ROOT

_MOST_CONNECTIONS = 400
_END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Latency:
    """What a run saw; durations in seconds. `late` is how late the generator itself was.

    `shed` are the requests told to come again (503 or 429 with Retry-After): they are not among
    `requests` and have no part in the percentiles. `why` says by what the others failed.
    """

    requests: int
    failed: int
    why: str
    shed: int
    p50: float
    p99: float
    late: float


def poisson(port: int, requests: Requests, rate: float, seconds: float) -> Latency:
    """Send `rate` requests a second from the load's core."""
    command = [sys.executable, "-m", "bench.open_loop", str(port), str(rate), str(seconds)]
    command += [requests.path, requests.body, str(requests.count)]
    text = output_of(command, cores=LOAD_CORES, seconds=seconds + 40, cwd=ROOT)
    return Latency(**json.loads(text))


@dataclass(slots=True)
class _Run:
    """Everything sent and seen."""

    port: int
    requests: Iterator[bytes]
    idle: "deque[_Connection]" = field(default_factory=deque)
    connections: int = 0
    latencies: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    shed: int = 0


class _Connection(asyncio.Protocol):
    """One keep-alive connection with at most one request on it."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._received = b""
        self._due = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def send(self, due: float) -> None:
        self._due = due
        self.transport.write(next(self._run.requests))  # type: ignore[attr-defined] # TCP

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(_END_OF_HEAD)
        if not end or len(body) < _content_length(head):
            return
        run = self._run
        if _is_shed(head):
            run.shed += 1
        else:
            if not head.startswith(b"HTTP/1.1 200"):
                run.failures[head.partition(b"\r\n")[0].decode("latin-1")] += 1
            run.latencies.append(asyncio.get_running_loop().time() - self._due)
        self._received = b""
        run.idle.append(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        run = self._run
        if self in run.idle:
            run.idle.remove(self)
        else:
            run.failures["connection lost"] += 1
        run.connections -= 1


def _is_shed(head: bytes) -> bool:
    return head[9:12] in {b"503", b"429"} and b"\r\nretry-after:" in head.lower()


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


async def _send(run: _Run, due: float) -> None:
    """Send one request on an idle connection, or on a new one."""
    if run.idle:
        connection = run.idle.pop()
    elif run.connections < _MOST_CONNECTIONS:
        run.connections += 1
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: _Connection(run), "127.0.0.1", run.port
        )
    else:
        run.failures[f"more than {_MOST_CONNECTIONS} at once"] += 1
        return
    connection.send(due)


async def _drive(run: _Run, rate: float, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    arrivals = random.Random(1)  # noqa: S311 - the same arrivals each time
    async with asyncio.TaskGroup() as group:
        due = loop.time() + 0.1
        end = due + seconds
        while due < end:
            await asyncio.sleep(due - loop.time())
            run.late.append(loop.time() - due)
            if run.idle:
                run.idle.pop().send(due)
            else:
                group.create_task(_send(run, due))
            due += arrivals.expovariate(rate)
    for _ in range(1_000):
        if len(run.idle) == run.connections:
            break
        await asyncio.sleep(0.01)
    if run.connections > len(run.idle):
        run.failures["no answer"] += run.connections - len(run.idle)


def _request(path: str, body: str) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    )
    return (head + body).encode()


def _main(port: int, rate: float, seconds: float, requests: Requests) -> None:
    bodies = (requests.body.replace("%d", str(number + 1)) for number in range(requests.count or 1))
    run = _Run(port, cycle(_request(requests.path, body) for body in bodies))
    # select() takes microseconds; epoll would round each arrival up to a millisecond.
    with asyncio.Runner(
        loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())
    ) as runner:
        runner.run(_drive(run, rate, seconds))
    seen = sorted(run.latencies)
    late = sorted(run.late)
    print(
        json.dumps(
            {
                "requests": len(seen),
                "failed": run.failures.total(),
                "why": ", ".join(f"{why}: {count}" for why, count in run.failures.items()),
                "shed": run.shed,
                "p50": seen[len(seen) // 2],
                "p99": seen[len(seen) * 99 // 100],
                "late": late[len(late) * 99 // 100],
            }
        )
    )


if __name__ == "__main__":
    _main(
        int(sys.argv[1]),
        float(sys.argv[2]),
        float(sys.argv[3]),
        Requests(sys.argv[4], sys.argv[5], int(sys.argv[6])),
    )
