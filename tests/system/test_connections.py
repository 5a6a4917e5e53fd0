"""Connections of the server: kept while in use, closed when not; responses are complete."""

import asyncio
import errno
import gc
import socket
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway.supervisor.server.connections import Serving, _Connection, serve
from gateway.supervisor.sockets import refuse_connections
from tests.support.connections import (
    BOTH_WAYS,
    REQUEST,
    SHORT,
    Answering,
    Closing,
    Counting,
    Failing,
    Served,
    Streaming,
    serving,
)

UNREAD = (
    b"POST / HTTP/1.1\r\nhost: gateway\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"1\r\na\r\n" * 30
    + b"0\r\n\r\n"
)
LARGE = b"POST / HTTP/1.1\r\nhost: gateway\r\ncontent-length: 8000000\r\n\r\n"


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Both loops: the gateway runs on uvloop, whose transports differ."""
    return "asyncio", {"use_uvloop": request.param}


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


async def test_pipelined_requests_wait_for_a_client_that_does_not_read(
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


async def test_a_response_reaches_a_client_that_still_sends(tmp_path: Path) -> None:
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.transport.set_write_buffer_limits(0)
        writer.write(LARGE + b"a" * 8_000_000)
        await writer.drain()
        assert (await reader.read()).endswith(b"firstsecond")
        writer.close()


async def test_a_refusal_reaches_a_client_that_still_sends_its_head(tmp_path: Path) -> None:
    async with serving(tmp_path / "s", Answering()) as served:
        for size in (100_000, 1_000_000):
            reader, writer = await served.connect()
            writer.write(b"GET / HTTP/1.1\r\nhost: gateway\r\nx: " + b"a" * size + b"\r\n\r\n")
            await writer.drain()
            assert (await reader.read()).startswith((b"HTTP/1.1 400", b"HTTP/1.1 431")), size
            writer.close()


async def test_a_client_that_stops_sending_is_closed_in_time(tmp_path: Path) -> None:
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app, idle=SHORT) as served:
        reader, writer = await served.connect()
        writer.write(LARGE + b"a")
        assert (await reader.read()).endswith(b"firstsecond")
        while not writer.transport.is_closing():
            writer.write(b"a")
            await asyncio.sleep(0)


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


async def test_coming_and_going_clients_leave_no_socket_and_no_task(tmp_path: Path) -> None:
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        stays = await served.connect()
        stays[1].write(REQUEST)
        await stays[0].readuntil(b"firstsecond")  # the loop has opened what it keeps open
        connections, tasks = served.connections(), len(asyncio.all_tasks())
        for _ in range(30):
            await asyncio.gather(*(visit(served) for _ in range(10)))
        await served.returned_to(connections, tasks)
        gc.collect()
        assert len([held for held in gc.get_objects() if type(held) is _Connection]) == 1
        stays[1].close()


@pytest.mark.parametrize("request_bytes", BOTH_WAYS)
async def test_an_answer_may_end_its_connection(tmp_path: Path, request_bytes: bytes) -> None:
    async with serving(tmp_path / "s", Closing()) as served:
        reader, writer = await served.connect()
        writer.write(request_bytes)
        answer = await reader.read()  # to the end
        assert answer.startswith(b"HTTP/1.1 200 ")
        writer.close()


async def test_a_client_leaving_within_an_answer_leaves_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = Streaming()
    async with serving(tmp_path / "s", app) as served:
        stays = await served.connect()
        stays[1].write(REQUEST)
        await stays[0].readuntil(b"\r\n\r\n")
        await stays[0].readexactly(10_000_000)
        connections, tasks = served.connections(), len(asyncio.all_tasks())
        for _ in range(5):
            reader, writer = await served.connect()
            writer.write(REQUEST)
            await reader.readuntil(b"\r\n\r\n")
            writer.transport.abort()
        await served.returned_to(connections, tasks)
        assert app.sent == 6 * 10_000_000  # to nobody, and without an error
        assert caplog.text == ""
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


async def test_ending_closes_idle_connections_and_finishes_requests(
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


async def test_a_partly_received_request_is_answered_at_the_end(
    tmp_path: Path,
) -> None:
    """A head with a certificate is longer than a packet, so its parts arrive apart."""
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        idle, idle_writer = await served.connect()
        writer.write(REQUEST[:30])
        await asyncio.sleep(0.05)
        served.end.set()
        assert await idle.read() == b""
        writer.write(REQUEST[30:])
        answer = await reader.read()
        assert b"connection: close" in answer
        assert answer.endswith(b"firstsecond")
        await served.task
        writer.close()
        idle_writer.close()


class _Failing(socket.socket):
    """A listener whose next connection has failed, as Linux reports of some at `accept`."""

    failures: list[int]

    def accept(self) -> Any:
        if self.failures:
            raise OSError(self.failures.pop(), "failed")
        return super().accept()


@pytest.mark.parametrize("number", [errno.EPERM, errno.EPROTO, errno.ENETUNREACH])
async def test_a_failed_connection_does_not_end_a_listener(tmp_path: Path, number: int) -> None:
    """Source: accept(2), errors of the new connection."""
    with _Failing(socket.AF_UNIX) as listener:
        listener.failures = [number]
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        end, app = asyncio.Event(), Answering()
        app.go_on.set()
        served = Serving(app, listener, end.wait, timedelta(seconds=1))
        server = asyncio.create_task(serve(served))
        async with asyncio.timeout(5):
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
            writer.write(REQUEST)
            assert await reader.readuntil(b"firstsecond")
        writer.close()
        end.set()
        await server


@pytest.mark.parametrize("request_bytes", BOTH_WAYS)
@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET], ids=["unix", "tcp"])
async def test_no_request_is_lost_while_a_server_ends(
    tmp_path: Path, family: socket.AddressFamily, request_bytes: bytes
) -> None:
    address: Any = str(tmp_path / "s") if family == socket.AF_UNIX else ("127.0.0.1", 0)
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen(1024)
        end, noticed = asyncio.Event(), timedelta(milliseconds=200)
        app = Answering()
        app.go_on.set()
        served = Serving(app, listener.dup(), end.wait, timedelta(seconds=10), notice=noticed)
        server = asyncio.create_task(serve(served))
        pools = [Pool(listener, request_bytes) for _ in range(20)]
        callers = [asyncio.create_task(pool.send_requests()) for pool in pools]
        while min(pool.answered for pool in pools) < 20:  # noqa: ASYNC110 - the load has begun
            await asyncio.sleep(0.001)
        end.set()
        await asyncio.sleep(noticed.total_seconds() / 2)
        refuse_connections(listener)  # as the supervisor does, in the process that keeps it open
        await server
    await asyncio.gather(*callers)
    assert [pool.lost for pool in pools] == [0] * len(pools)


@dataclass
class Pool:
    """A proxy's connection: kept while the server keeps it, opened again until it is refused."""

    listener: socket.socket
    request: bytes
    answered: int = 0
    lost: int = 0

    async def send_requests(self) -> None:
        """Send requests until no connection can be opened."""
        loop, address = asyncio.get_running_loop(), self.listener.getsockname()
        while True:
            with socket.socket(self.listener.family) as connection:
                connection.setblocking(False)
                try:
                    async with asyncio.timeout(1.5):  # a first packet that was dropped comes again
                        await loop.sock_connect(connection, address)
                except (OSError, TimeoutError):
                    return
                await self._use(loop, connection)

    async def _use(self, loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
        while True:
            answer = b""
            try:
                await loop.sock_sendall(connection, self.request)
                while not answer.endswith(b"firstsecond"):
                    if not (part := await loop.sock_recv(connection, 65536)):
                        self.lost += 1
                        return
                    answer += part
            except ConnectionError:
                self.lost += 1
                return
            self.answered += 1
            if b"connection: close" in answer:
                return
            await asyncio.sleep(0)


@pytest.mark.parametrize("request_bytes", BOTH_WAYS)
async def test_what_breaks_below_the_application_is_logged(
    tmp_path: Path, request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    app = Failing(begins=False)
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        answer = await served.ask(request_bytes)
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert "broken on purpose" in caplog.text
