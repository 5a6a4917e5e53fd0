"""Browsers that sign in: each has a connection of its own and asks for one page after the other.

Runs in a process of its own and prints JSON; cookies or codes to begin with come on standard input,
a line each.

python -m bench.browser_client PORT REALM STEPS SECONDS RATE
"""

import asyncio
import html
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from itertools import count
from urllib.parse import parse_qs, urlencode, urlsplit

from bench.people import BROWSER_APP, COUNT, PASSWORD, REDIRECT_URI, token_path
from bench.processes import LOAD_CORES, BenchError
from bench.workspace import ROOT

_BROWSERS = 8
"""At once, where each waits for its answer."""
_MOST_BROWSERS = 200
"""At once, where sign-ins come when they come; who comes then leaves again."""
_FORM = re.compile(r'<form[^>]*\saction="([^"]+)"')


class Steps(StrEnum):
    """What each browser does, again and again."""

    SIGN_IN = "sign-in"
    """Page, form, code, tokens: a new browser each time. The cookies of some are kept."""
    SINGLE_SIGN_ON = "single-sign-on"
    """Code and tokens by a cookie."""
    CODES = "codes"
    """A code by a cookie; the codes are what is found."""
    EXCHANGE = "exchange"
    """Tokens for a code, until there is none."""


@dataclass(frozen=True, slots=True)
class Browsers:
    """What a run saw; durations in seconds.

    `shed` are those that were told to come again (503), `left` those that did not begin because
    the most browsers were waiting already: neither is among `done`.
    """

    done: int
    shed: int
    left: int
    seconds: float
    p50: float
    p99: float
    found: list[str] = field(repr=False)


def browse(
    port: int,
    realm: str,
    steps: Steps,
    seconds: float,
    given: Sequence[str] = (),
    *,
    rate: float = 0,
) -> Browsers:
    """Let browsers do something from the load's core; `rate` a second, or one after the other."""
    command = ["taskset", "-c", LOAD_CORES, sys.executable, "-m", "bench.browser_client"]
    done = subprocess.run(
        [*command, str(port), realm, steps, str(seconds), str(rate)],
        input="\n".join(given),
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=False,
        cwd=ROOT,
    )
    if done.returncode:
        raise BenchError(f"{steps} of a browser failed: {done.stderr[-800:]}")
    return Browsers(**json.loads(done.stdout))


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    location: str
    cookies: tuple[str, ...]
    body: str


class _Shed(Exception):
    """The server has no capacity now."""


class _Connection:
    """One keep-alive connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(
        self, path: str, form: dict[str, str] | None = None, cookies: str = ""
    ) -> _Answer:
        """Send a request and read its answer."""
        head = f"{'GET' if form is None else 'POST'} {path} HTTP/1.1\r\nHost: localhost\r\n"
        if cookies:
            head += f"Cookie: {cookies}\r\n"
        body = ""
        if form is not None:
            body = urlencode(form)
            head += "Content-Type: application/x-www-form-urlencoded\r\n"
            head += f"Content-Length: {len(body)}\r\n"
        self._writer.write(f"{head}\r\n{body}".encode())
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = [line.partition(": ") for line in lines[1:]]
        named = {name.lower(): value for name, _, value in headers}
        set_cookies = tuple(
            value.partition(";")[0] for name, _, value in headers if name.lower() == "set-cookie"
        )
        text = await self._body(named)
        status = int(lines[0].split()[1])
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise _Shed
        return _Answer(status, named.get("location", ""), set_cookies, text)

    async def _body(self, headers: dict[str, str]) -> str:
        if "chunked" not in headers.get("transfer-encoding", ""):
            length = int(headers.get("content-length", "0"))
            return (await self._reader.readexactly(length)).decode()
        parts = b""
        while size := int(await self._reader.readline(), 16):
            parts += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return parts.decode()

    def close(self) -> None:
        self._writer.close()


@dataclass(slots=True)
class _Run:
    port: int
    realm: str
    given: list[str]
    latencies: list[float] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    shed: int = 0
    left: int = 0
    users: "count[int]" = field(default_factory=count)
    idle: list[_Connection] = field(default_factory=list)

    async def connection(self) -> _Connection:
        """Return an idle connection, or a new one."""
        if self.idle:
            return self.idle.pop()
        return _Connection(*await asyncio.open_connection("127.0.0.1", self.port))

    @property
    def asking(self) -> str:
        """Where a client sends its user."""
        asked = {
            "client_id": BROWSER_APP,
            "redirect_uri": REDIRECT_URI,
            "response_type": "code",
            "scope": "openid",
            "state": "a-state",
            "nonce": "a-nonce",
        }
        return f"/realms/{self.realm}/protocol/openid-connect/auth?{urlencode(asked)}"


async def _sign_in(run: _Run, connection: _Connection) -> str:
    """Sign a user in by the form; return code and cookies."""
    name = f"person-{next(run.users) % COUNT + 1}"
    page = await connection.ask(run.asking)
    form = _FORM.search(page.body)
    if form is None:
        raise BenchError(f"no form: {page}")
    action = urlsplit(html.unescape(form[1]))
    sent = {"username": name, "password": PASSWORD, "credentialId": ""}
    path = f"{action.path}?{action.query}"
    answer = await connection.ask(path, sent, "; ".join(page.cookies))
    kept = {each.partition("=")[0]: each for each in (*page.cookies, *answer.cookies)}
    cookies = "; ".join(each for each in kept.values() if each.partition("=")[2])
    return f"{_code(answer)} {cookies}"


def _code(answer: _Answer) -> str:
    codes = parse_qs(urlsplit(answer.location).query).get("code")
    if codes is None:
        raise BenchError(f"no code: {answer}")
    return codes[0]


async def _exchange(run: _Run, connection: _Connection, code: str) -> None:
    form = {
        "grant_type": "authorization_code",
        "client_id": BROWSER_APP,
        "redirect_uri": REDIRECT_URI,
        "code": code,
    }
    answer = await connection.ask(token_path(run.realm), form)
    if '"access_token"' not in answer.body:
        raise BenchError(f"no tokens: {answer}")


async def _whole_sign_in(run: _Run, connection: _Connection, given: str) -> None:  # noqa: ARG001
    code, _, cookies = (await _sign_in(run, connection)).partition(" ")
    await _exchange(run, connection, code)
    if len(run.found) < _BROWSERS:
        run.found.append(cookies)


async def _code_by_cookie(run: _Run, connection: _Connection, given: str) -> str:
    return _code(await connection.ask(f"{run.asking}&prompt=none", None, given))


async def _single_sign_on(run: _Run, connection: _Connection, given: str) -> None:
    await _exchange(run, connection, await _code_by_cookie(run, connection, given))


async def _keep_code(run: _Run, connection: _Connection, given: str) -> None:
    run.found.append(await _code_by_cookie(run, connection, given))


async def _exchange_next(run: _Run, connection: _Connection, given: str) -> None:  # noqa: ARG001
    await _exchange(run, connection, run.given.pop())


_WORK: dict[Steps, Callable[[_Run, _Connection, str], Awaitable[None]]] = {
    Steps.SIGN_IN: _whole_sign_in,
    Steps.SINGLE_SIGN_ON: _single_sign_on,
    Steps.CODES: _keep_code,
    Steps.EXCHANGE: _exchange_next,
}


async def _once(run: _Run, steps: Steps, given: str, due: float) -> None:
    connection = await run.connection()
    try:
        await _WORK[steps](run, connection, given)
        run.latencies.append(time.perf_counter() - due)
    except _Shed:
        run.shed += 1
    run.idle.append(connection)


async def _one_after_the_other(run: _Run, steps: Steps, seconds: float) -> None:
    end = time.perf_counter() + seconds

    async def repeat(given: str) -> None:
        while time.perf_counter() < end and (steps is not Steps.EXCHANGE or run.given):
            await _once(run, steps, given, time.perf_counter())

    browsers = [run.given[at % len(run.given)] if run.given else "" for at in range(_BROWSERS)]
    await asyncio.gather(*map(repeat, browsers))


async def _as_they_come(run: _Run, steps: Steps, seconds: float, rate: float) -> None:
    arrivals = random.Random(1)  # noqa: S311 - the same arrivals each time
    due = time.perf_counter()
    end = due + seconds
    async with asyncio.TaskGroup() as group:
        going: set[asyncio.Task[None]] = set()
        while due < end:
            await asyncio.sleep(due - time.perf_counter())
            arrived, due = due, due + arrivals.expovariate(rate)
            if len(going) >= _MOST_BROWSERS:
                run.left += 1
                continue
            given = run.given[len(run.latencies) % len(run.given)] if run.given else ""
            task = group.create_task(_once(run, steps, given, arrived))
            going.add(task)
            task.add_done_callback(going.discard)


async def _main(run: _Run, steps: Steps, seconds: float, rate: float) -> None:
    began = time.perf_counter()
    if rate:
        await _as_they_come(run, steps, seconds, rate)
    else:
        await _one_after_the_other(run, steps, seconds)
    taken = time.perf_counter() - began
    for connection in run.idle:
        connection.close()
    seen = sorted(run.latencies) or [0.0]
    print(
        json.dumps(
            {
                "done": len(run.latencies),
                "shed": run.shed,
                "left": run.left,
                "seconds": taken,
                "p50": seen[len(seen) // 2],
                "p99": seen[len(seen) * 99 // 100],
                "found": run.found,
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(
        _main(
            _Run(int(sys.argv[1]), sys.argv[2], sys.stdin.read().splitlines()),
            Steps(sys.argv[3]),
            float(sys.argv[4]),
            float(sys.argv[5]),
        )
    )
