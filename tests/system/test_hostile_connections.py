"""No peer, slow, half gone or broken, holds a connection longer than the peer timeout.

Source: attacks F1
"""

import asyncio
import gc
import socket
import struct
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.supervisor.server.connections import Serving, serve
from tests.support.connections import (
    BOTH_WAYS,
    BY_H11,
    REQUEST,
    SHORT,
    Answering,
    Closing,
    Failing,
    Reading,
    Served,
    Streaming,
    serving,
)

HALF_A_HEAD = b"POST / HTTP/1.1\r\nhost: gate"
HALF_A_BODY = b"POST / HTTP/1.1\r\nhost: gateway\r\ncontent-length: 10\r\n\r\nhalf"
HALF_A_CHUNK = b"POST / HTTP/1.1\r\nhost: gateway\r\ntransfer-encoding: chunked\r\n\r\n5\r\nha"


HANDSHAKE = (
    b"GET / HTTP/1.1\r\nhost: gateway\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
SERVERS = ("gateway.supervisor", "hypercorn", "h11")
"""Where the classes of connections come from."""
CONNECTIONS = {"_Connection", "Connection", "PeerTimeout"}


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Both loops: the gateway runs on uvloop, whose transports differ."""
    return "asyncio", {"use_uvloop": request.param}


def held_connections() -> int:
    """Return how many there are in this process, those of clients included."""
    gc.collect()
    kinds = (type(each) for each in gc.get_objects())
    return sum(
        kind.__name__ in CONNECTIONS and str(kind.__module__).startswith(SERVERS) for kind in kinds
    )


async def some_turns() -> None:
    """Let the loop turn often enough for the server to accept and to read what was sent."""
    for _ in range(20):
        await asyncio.sleep(0)


async def warmed(served: Served) -> tuple[int, int]:
    """Return how many connections and tasks there are when nobody is connected."""
    await some_turns()
    tasks = len(asyncio.all_tasks())
    _, writer = await served.connect()
    await some_turns()
    writer.close()
    await writer.wait_closed()
    while len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0)
    await some_turns()
    return served.connections(), tasks


@pytest.mark.parametrize("first", BOTH_WAYS)
@pytest.mark.parametrize("begins", [True, False])
async def test_a_request_behind_a_broken_answer_ends_with_it(
    tmp_path: Path, first: bytes, *, begins: bool
) -> None:
    app = Failing(begins=begins)
    async with serving(tmp_path / "s", app) as served:
        connections, tasks = await warmed(served)
        reader, writer = await served.connect()
        writer.write(first)
        await app.begun.wait()
        writer.write(first)
        await some_turns()
        app.go_on.set()
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200" if begins else b"HTTP/1.1 500")
        assert answer.count(b"HTTP/1.1") == 1
        writer.close()
        await served.returned_to(connections, tasks)


@pytest.mark.parametrize("request_bytes", BOTH_WAYS)
async def test_a_client_that_never_reads_is_left(tmp_path: Path, request_bytes: bytes) -> None:
    app = Streaming()
    async with serving(tmp_path / "s", app, idle=SHORT) as served:
        connections, tasks = await warmed(served)
        _, writer = await served.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(request_bytes)
        await served.returned_to(connections, tasks)
        writer.transport.abort()


@pytest.mark.parametrize("request_bytes", BOTH_WAYS)
async def test_a_client_that_never_reads_does_not_hold_up_the_end(
    tmp_path: Path, request_bytes: bytes
) -> None:
    app = Streaming()
    async with serving(tmp_path / "s", app, grace=SHORT) as served:
        _, writer = await served.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(request_bytes)
        while not app.sent:  # noqa: ASYNC110 - the application begins some turns later
            await asyncio.sleep(0)
        served.end.set()
        await served.task
        writer.transport.abort()


async def test_the_end_of_an_answer_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    """Sizes of which some fill the socket, and leave of the answer what needs no waiting."""
    async with serving(tmp_path / "s", Closing(), idle=SHORT) as served:
        connections, tasks = await warmed(served)
        clients = [await served.connect() for _ in range(20)]
        for number, (_, writer) in enumerate(clients):
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(REQUEST.replace(b"/", b"/%d" % (number * 20_000), 1))
        await served.returned_to(connections, tasks)
        for _, writer in clients:
            writer.transport.abort()


@pytest.mark.parametrize("half", [b"", HALF_A_HEAD, HALF_A_BODY, HALF_A_CHUNK])
async def test_half_a_request_is_waited_for_in_vain_only_so_long(
    tmp_path: Path, half: bytes
) -> None:
    async with serving(tmp_path / "s", Reading(), idle=SHORT) as served:
        connections, tasks = await warmed(served)
        reader, writer = await served.connect()
        writer.write(half)
        assert await reader.read() == b""
        writer.close()
        await served.returned_to(connections, tasks)


@pytest.mark.parametrize("start", [HALF_A_HEAD, HALF_A_BODY.replace(b"10", b"10000000")])
async def test_a_request_that_trickles_in_buys_no_time(tmp_path: Path, start: bytes) -> None:
    async with serving(tmp_path / "s", Reading(), idle=SHORT) as served:
        reader, writer = await served.connect()
        writer.write(start)
        end = asyncio.create_task(reader.read())
        while not end.done():
            writer.write(b"a")
            await asyncio.sleep(SHORT / 20)
        (answer,) = await asyncio.gather(end, return_exceptions=True)
        assert answer == b"" or isinstance(answer, ConnectionError)  # as the last byte arrived
        writer.close()


async def test_a_body_that_comes_in_time_is_waited_for(tmp_path: Path) -> None:
    app = Reading()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(HALF_A_BODY)
        await app.begun.wait()
        writer.write(b" a body")
        writer.write_eof()
        assert (await reader.read()).endswith(b"\r\n\r\nhalf a bod")
        writer.close()


async def test_an_application_may_take_its_time_after_a_body_in_pieces(tmp_path: Path) -> None:
    app = Answering()
    async with serving(tmp_path / "s", app, idle=SHORT) as served:
        idle, idle_writer = await served.connect()
        reader, writer = await served.connect()
        writer.write(HALF_A_BODY)
        await app.begun.wait()
        writer.write(b" a bod")
        assert await idle.read() == b""  # the peer timeout is over
        second, second_writer = await served.connect()
        assert await second.read() == b""  # and over again
        app.go_on.set()
        assert (await reader.read()).endswith(b"firstsecond")
        for each in (writer, idle_writer, second_writer):
            each.close()


async def test_an_application_may_be_slow_after_a_late_read(
    tmp_path: Path,
) -> None:
    app = Answering(parts=(b"a" * 1_000_000, b"b"))
    async with serving(tmp_path / "s", app, idle=SHORT) as served:
        reader, writer = await served.connect()
        writer.write(REQUEST)
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(1_000_000) == app.parts[0]
        for _ in range(2):  # the peer timeout is over, and over again
            idle, idle_writer = await served.connect()
            assert await idle.read() == b""
            idle_writer.close()
        app.go_on.set()
        assert await reader.read() == b"b"
        writer.close()


async def test_a_body_larger_than_a_head_may_be_is_read(tmp_path: Path) -> None:
    async with serving(tmp_path / "s", Reading()) as served:
        reader, writer = await served.connect()
        head = b"POST / HTTP/1.1\r\nhost: gateway\r\ncontent-length: 200000\r\n\r\n"
        writer.write(head + b"a" * 200_000)
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(200_000) == b"a" * 200_000
        writer.close()


async def test_a_handshake_for_websockets_is_a_request(tmp_path: Path) -> None:
    app = Reading()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(HANDSHAKE)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.close()
    assert [scope["type"] for scope in app.scopes] == ["http"]


@pytest.mark.parametrize("half", [HALF_A_BODY, HALF_A_CHUNK])
async def test_an_application_learns_that_the_rest_will_not_come(
    tmp_path: Path, half: bytes
) -> None:
    app = Reading()
    async with serving(tmp_path / "s", app) as served:
        connections, tasks = await warmed(served)
        _, writer = await served.connect()
        writer.write(half)
        await app.begun.wait()
        writer.transport.abort()
        await served.returned_to(connections, tasks)
        assert app.messages[-1]["type"] == "http.disconnect"


@pytest.mark.parametrize("request_bytes", BOTH_WAYS)
async def test_a_client_that_only_stopped_sending_is_answered(
    tmp_path: Path, request_bytes: bytes
) -> None:
    app = Answering()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(request_bytes)
        writer.write_eof()
        await app.begun.wait()
        app.go_on.set()
        assert (await reader.read()).endswith(b"firstsecond")
        writer.close()


async def test_hundreds_of_connections_come_and_go(tmp_path: Path) -> None:
    app = Answering()
    app.go_on.set()
    before = held_connections()
    async with serving(tmp_path / "s", app) as served:
        connections, tasks = await warmed(served)
        crowd = [await served.connect() for _ in range(400)]
        for number, (_, writer) in enumerate(crowd):
            writer.write([b"", HALF_A_HEAD, HALF_A_BODY, REQUEST, BY_H11][number % 5])
        assert b"firstsecond" in await served.ask(REQUEST)
        for _, writer in crowd:
            writer.transport.abort()
        await served.returned_to(connections, tasks)
        await some_turns()
        gc.collect()
        assert held_connections() <= before


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"CONNECT gateway:1 HTTP/1.1\r\nhost: gateway\r\n\r\n", b"200"),
        (b"CONNECT / HTTP/1.1\r\nhost: gateway\r\n\r\n" + REQUEST, b"200"),
    ],
)
async def test_connect_is_a_request_like_others(tmp_path: Path, sent: bytes, status: bytes) -> None:
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        connections, tasks = await warmed(served)
        answer = await served.ask(sent)
        assert answer.startswith(b"HTTP/1.1 " + status)
        await served.returned_to(connections, tasks)


async def test_the_end_waits_for_a_request_no_longer_than_its_grace(tmp_path: Path) -> None:
    app = Answering()
    async with serving(tmp_path / "s", app, grace=SHORT) as served:
        _, writer = await served.connect()
        writer.write(REQUEST)
        await app.begun.wait()
        served.end.set()
        await served.task
        writer.close()


@pytest.mark.parametrize("request_bytes", BOTH_WAYS)
async def test_a_server_that_is_cancelled_ends_its_connections(
    tmp_path: Path, request_bytes: bytes
) -> None:
    app = Streaming()
    async with serving(tmp_path / "s", app) as served:
        connections, tasks = await warmed(served)
        _, writer = await served.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(request_bytes)
        while app.sent < 200_000:  # noqa: ASYNC110 - until the sockets are full
            await asyncio.sleep(0)
        await some_turns()
        served.task.cancel()
        await served.returned_to(connections, tasks - 1)
        writer.transport.abort()


async def test_a_broken_client_is_no_error_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    """A client that resets its connection; by TCP, where that can be told from an end."""
    app, end = Answering(), asyncio.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        given = Serving(app, listener, end.wait, timedelta(seconds=1))
        task = asyncio.create_task(serve(given))
        for request in (b"", HALF_A_HEAD, HALF_A_BODY, REQUEST):
            client = socket.create_connection(listener.getsockname())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(request)
            await some_turns()
            client.close()
            await some_turns()
        app.go_on.set()
        end.set()
        await task
    assert caplog.text == ""


ENDLESS = {
    "target": b"GET /" + b"a" * 300_000,
    "header": b"GET / HTTP/1.1\r\nhost: gateway\r\na: " + b"a" * 300_000,
    "headers": b"GET / HTTP/1.1\r\nhost: gateway\r\n" + b"a: b\r\n" * 50_000,
}


@pytest.mark.parametrize("kind", ENDLESS)
async def test_a_head_has_a_largest_size(tmp_path: Path, kind: str) -> None:
    app = Reading()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(ENDLESS[kind])
        answer = await reader.readuntil(b"}")
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
        assert b"content-type: application/json" in answer.lower()
        assert not app.scopes
        writer.transport.abort()


@pytest.mark.parametrize("size", [60_000, 70_000])
async def test_the_largest_head_is_64_kib(tmp_path: Path, size: int) -> None:
    head = b"GET / HTTP/1.1\r\nhost: gateway\r\na: " + b"a" * size + b"\r\n\r\n"
    async with serving(tmp_path / "s", Reading()) as served:
        reader, writer = await served.connect()
        writer.write(head)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200") == (size < 64 * 1024)
        writer.transport.abort()


async def test_trailers_have_a_largest_size(tmp_path: Path) -> None:
    app = Reading()
    async with serving(tmp_path / "s", app) as served:
        connections, tasks = await warmed(served)
        _, writer = await served.connect()
        writer.write(HALF_A_CHUNK + b"lf!\r\n0\r\n" + b"a: b\r\n" * 50_000)
        await app.begun.wait()
        await served.returned_to(connections, tasks)
        assert app.messages[-1]["type"] == "http.disconnect"
        writer.transport.abort()


TWO_LENGTHS = (
    b"POST / HTTP/1.1\r\nhost: gateway\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"
    b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: gateway\r\n\r\n"
)


async def test_a_body_of_two_lengths_is_refused(tmp_path: Path) -> None:
    app = Reading()
    async with serving(tmp_path / "s", app) as served:
        answer = await served.ask(TWO_LENGTHS)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1 ") == 1
        assert b'"error":"invalid_request"' in answer
        assert not app.scopes


async def test_the_body_of_an_upgrade_is_not_another_request(tmp_path: Path) -> None:
    hidden = b"GET /smuggled HTTP/1.1\r\nhost: gateway\r\n\r\n"
    head = (
        b"POST / HTTP/1.1\r\nhost: gateway\r\nconnection: upgrade\r\nupgrade: h2c\r\n"
        b"content-length: %d\r\n\r\n" % len(hidden)
    )
    app = Reading()
    async with serving(tmp_path / "s", app) as served:
        reader, writer = await served.connect()
        writer.write(head)
        await app.begun.wait()
        writer.write(hidden)
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()
    assert [scope["path"] for scope in app.scopes] == ["/"]


async def test_a_peer_that_is_gone_is_not_taken_for_the_proxy() -> None:
    """Without an address a request is a unix peer's, and the proxy's word (attacks A1)."""
    app, end = Reading(), asyncio.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(REQUEST)
        client.close()  # before anybody accepts it
        given = Serving(app, listener, end.wait, timedelta(seconds=1))
        task = asyncio.create_task(serve(given))
        other, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(REQUEST)
        assert (await other.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.close()
        end.set()
        await task
    assert all(scope["client"] is not None for scope in app.scopes)
