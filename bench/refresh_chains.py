"""Refreshes whose tokens are retired by their use: each answer holds the token of the next one.

Runs in a process of its own and prints JSON; the tokens to begin with come on standard input.

python -m bench.refresh_chains PORT PATH CLIENT SECONDS
"""

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

from bench.processes import LOAD_CORES, BenchError
from bench.workspace import ROOT


@dataclass(frozen=True, slots=True)
class Chains:
    """What a run saw, and the tokens whose turn it is now."""

    refreshes: int
    seconds: float
    p50: float
    p99: float
    tokens: list[str]


def follow_chains(port: int, path: str, client: str, tokens: list[str], seconds: int) -> Chains:
    """Refresh along the chains from the load's core, as fast as answers come."""
    command = ["taskset", "-c", LOAD_CORES, sys.executable, "-m", "bench.refresh_chains"]
    done = subprocess.run(
        [*command, str(port), path, client, str(seconds)],
        input="\n".join(tokens),
        capture_output=True,
        text=True,
        timeout=seconds + 40,
        check=False,
        cwd=ROOT,
    )
    if done.returncode:
        raise BenchError(f"a chain of refreshes broke: {done.stderr[-800:]}")
    return Chains(**json.loads(done.stdout))


@dataclass(slots=True)
class _Run:
    port: int
    path: str
    client: str
    end: float
    latencies: list[float] = field(default_factory=list)


async def _follow(run: _Run, token: str) -> str:
    """Refresh until the end; return the token that is left."""
    reader, writer = await asyncio.open_connection("127.0.0.1", run.port)
    while time.perf_counter() < run.end:
        began = time.perf_counter()
        form = {"grant_type": "refresh_token", "client_id": run.client, "refresh_token": token}
        body = urlencode(form)
        writer.write(
            f"POST {run.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        answer = await reader.readexactly(length)
        if not head.startswith(b"http/1.1 200"):
            raise BenchError(f"{head!r} {answer!r}")
        token = json.loads(answer)["refresh_token"]
        run.latencies.append(time.perf_counter() - began)
    writer.close()
    return token


async def _main(run: _Run, tokens: list[str], seconds: float) -> None:
    began = time.perf_counter()
    run.end = began + seconds
    left = await asyncio.gather(*(_follow(run, token) for token in tokens))
    taken = time.perf_counter() - began
    seen = sorted(run.latencies)
    found = {"refreshes": len(seen), "seconds": taken, "tokens": left}
    print(json.dumps(found | {"p50": seen[len(seen) // 2], "p99": seen[len(seen) * 99 // 100]}))


if __name__ == "__main__":
    asyncio.run(
        _main(
            _Run(int(sys.argv[1]), sys.argv[2], sys.argv[3], 0.0),
            sys.stdin.read().split(),
            float(sys.argv[4]),
        )
    )
