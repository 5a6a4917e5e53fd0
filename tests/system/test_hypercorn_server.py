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
UNREAD = (
    b"POST / HTTP/1.1\r\nhost: gateway\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"1\r\na\r\n" * 30
    + b"0\r\n\r\n"
)
DEADLINE = 10.0
LONG, SHORT = 60.0, 0.2


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Both loops: the gateway runs on uvloop, whose transports differ."""
    return "asyncio", {"use_uvloop": request.param}


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
class Counting(Answering):
    """An application that counts what it answered."""

    answered: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        await super().__call__(scope, receive, send)
        self.answered += 1


@dataclass
class Streaming(Answering):
    """An application whose answer has many parts, with a turn of the loop after each."""

    part: bytes = b"a" * 10_000
    count: int = 1000
    sent: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - ASGI
        """Answer one request."""
        length = str(len(self.part) * self.count).encode()
        headers = [(b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for _ in range(self.count):
            await send({"type": "http.response.body", "body": self.part, "more_body": True})
            self.sent += len(self.part)
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})


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
            try:
                yield Served(path, end, task)
                app.go_on.set()
                end.set()
                await task
            finally:
                task.cancel()


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


async def test_a_client_that_does_not_read_makes_the_application_wait(tmp_path: Path) -> None:
    app = Streaming()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(REQUEST)
        for _ in range(3 * app.count):  # turns enough to send everything
            await asyncio.sleep(0)
        assert 0 < app.sent < 1_000_000  # what the sockets and both streams take
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(10_000_000) == app.part * app.count
        writer.close()


async def test_pipelined_requests_are_not_answered_ahead_of_a_client_that_does_not_read(
    tmp_path: Path,
) -> None:
    app = Counting(parts=(b"a" * 5_000, b"b" * 5_000))
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(REQUEST * 300)
        while not app.answered:  # noqa: ASYNC110 - the application begins some turns later
            await asyncio.sleep(0)
        for _ in range(10_000):  # turns enough to answer everything
            await asyncio.sleep(0)
        assert app.answered < 100
        for _ in range(300):
            await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(10_000) == b"a" * 5_000 + b"b" * 5_000
        assert app.answered == 300
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


async def visit(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(REQUEST)
    await reader.readuntil(b"firstsecond")
    writer.close()
    await writer.wait_closed()


async def returned_to(files: int, tasks: int) -> None:
    """Wait until no more files and tasks are there than before; nobody tells of them."""
    while open_files() > files or len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_clients_that_come_and_go_leave_no_socket_and_no_task_behind(tmp_path: Path) -> None:
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        stays = await served.connect()
        stays[1].write(REQUEST)
        await stays[0].readuntil(b"firstsecond")  # the loop has opened what it keeps open
        files, tasks = open_files(), len(asyncio.all_tasks())
        for _ in range(30):
            await asyncio.gather(*(visit(served) for _ in range(10)))
        await returned_to(files, tasks)
        stays[1].close()


async def test_a_client_that_leaves_within_an_answer_leaves_nothing_behind(tmp_path: Path) -> None:
    app = Streaming()
    async with serving(tmp_path / "s", app) as served:
        stays = await served.connect()
        stays[1].write(REQUEST)
        await stays[0].readuntil(b"\r\n\r\n")
        await stays[0].readexactly(10_000_000)
        files, tasks = open_files(), len(asyncio.all_tasks())
        for _ in range(5):
            reader, writer = await served.connect()
            writer.write(REQUEST)
            await reader.readuntil(b"\r\n\r\n")
            writer.transport.abort()
        await returned_to(files, tasks)
        stays[1].close()


async def test_a_body_that_nobody_reads_leaves_no_task_behind(tmp_path: Path) -> None:
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        tasks = len(asyncio.all_tasks())
        reader, writer = await served.connect()
        writer.write(UNREAD)
        await reader.readuntil(b"firstsecond")
        writer.close()
        while len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)


async def test_two_requests_at_once_are_answered_one_after_the_other(tmp_path: Path) -> None:
    app = Counting()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(REQUEST * 2)
        await app.begun.wait()
        assert app.answered == 0
        app.go_on.set()
        await reader.readuntil(b"firstsecond")
        await reader.readuntil(b"firstsecond")
        assert app.answered == 2
        writer.close()


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
