"""Connections on Hypercorn: held while they are of use, closed when not, answers whole."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypercorn.config import Config

from gateway.supervisor.hypercorn_server import serve_connections

REQUEST = b"POST / HTTP/1.1\r\nhost: gateway\r\ncontent-length: 0\r\n\r\n"
DEADLINE = 10.0
LONG, SHORT = 60.0, 0.2


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Answering:
    """An application whose answer comes in two parts, the second when it is told to."""

    parts: tuple[bytes, bytes] = (b"first", b"second")
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - ASGI
        """Answer one request."""
        first, second = self.parts
        length = str(len(first) + len(second)).encode()
        headers = [(b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": first, "more_body": True})
        self.begun.set()
        await self.go_on.wait()
        await send({"type": "http.response.body", "body": second})


@dataclass
class Served:
    """A server on a unix socket."""

    path: Path
    end: asyncio.Event
    task: asyncio.Task[None]

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection."""
        return await asyncio.open_unix_connection(str(self.path))


@asynccontextmanager
async def serving(path: Path, app: Answering, idle: float = LONG) -> AsyncIterator[Served]:
    """Serve `app`, closing connections that are idle for `idle` seconds."""
    config = Config()
    config.keep_alive_timeout = idle
    config.graceful_timeout = DEADLINE
    config.accesslog = config.errorlog = None
    end = asyncio.Event()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        async with asyncio.timeout(DEADLINE):
            task = asyncio.create_task(serve_connections(app, config, listener, end.wait))
            yield Served(path, end, task)
            app.go_on.set()
            end.set()
            await task


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_part_that_is_sent_early_arrives_early(tmp_path: Path) -> None:
    app = Answering()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(REQUEST)
        head = await reader.readuntil(b"first")
        assert head.startswith(b"HTTP/1.1 200")
        app.go_on.set()
        assert await reader.readexactly(6) == b"second"
        writer.close()


async def test_an_answer_larger_than_any_buffer_arrives_whole(tmp_path: Path) -> None:
    app = Answering(parts=(b"a" * 3_000_000, b"b" * 3_000_000))
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(REQUEST)
        await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(6_000_000)
        assert body == b"a" * 3_000_000 + b"b" * 3_000_000
        writer.close()


async def test_an_idle_connection_is_closed_in_time(tmp_path: Path) -> None:
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app, idle=SHORT) as served:
        reader, writer = await served.connect()
        writer.write(REQUEST)
        assert (await reader.read()).endswith(b"firstsecond")  # read() returns at the end
        writer.close()


async def test_a_connection_with_a_running_request_is_not_idle(tmp_path: Path) -> None:
    app = Answering()
    async with serving(tmp_path / "s", app, idle=SHORT) as served:
        idle, idle_writer = await served.connect()
        reader, writer = await served.connect()
        writer.write(REQUEST)
        await app.begun.wait()
        assert await idle.read() == b""  # it waited longer, and is closed now
        app.go_on.set()
        assert (await reader.read()).endswith(b"firstsecond")
        writer.close()
        idle_writer.close()


async def test_a_client_that_went_away_leaves_no_socket_behind(tmp_path: Path) -> None:
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        before = open_files()
        for _ in range(20):
            reader, writer = await served.connect()
            writer.write(REQUEST)
            await reader.readuntil(b"firstsecond")
            writer.close()
            await writer.wait_closed()
        while open_files() > before:  # noqa: ASYNC110 - nobody tells of a closed file
            await asyncio.sleep(0.01)


async def test_ending_closes_idle_connections_and_finishes_running_requests(
    tmp_path: Path,
) -> None:
    app = Answering()
    async with serving(tmp_path / "s", app) as served:
        idle, idle_writer = await served.connect()
        reader, writer = await served.connect()
        writer.write(REQUEST)
        await app.begun.wait()
        served.end.set()
        assert await idle.read() == b""
        assert not served.task.done()
        app.go_on.set()
        assert (await reader.read()).endswith(b"firstsecond")
        await served.task
        writer.close()
        idle_writer.close()
