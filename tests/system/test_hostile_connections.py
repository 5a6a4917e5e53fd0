"""No peer, slow, half gone or broken, holds a connection for longer than the gateway's patience.

Source: attacks F1; issue 2, part 4.
"""

import asyncio
from pathlib import Path

import pytest

from tests.support.connections import (
    BOTH_WAYS,
    BY_H11,
    REQUEST,
    SHORT,
    Answering,
    Failing,
    Reading,
    Served,
    Streaming,
    open_files,
    returned_to,
    serving,
)

HALF_A_HEAD = b"POST / HTTP/1.1\r\nhost: gate"
HALF_A_BODY = b"POST / HTTP/1.1\r\nhost: gateway\r\ncontent-length: 10\r\n\r\nhalf"
HALF_A_CHUNK = b"POST / HTTP/1.1\r\nhost: gateway\r\ntransfer-encoding: chunked\r\n\r\n5\r\nha"


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Both loops: the gateway runs on uvloop, whose transports differ."""
    return "asyncio", {"use_uvloop": request.param}


async def warmed(served: Served) -> tuple[int, int]:
    """Return files and tasks, when the loop has opened what it keeps open."""
    reader, writer = await served.connect()
    files, tasks = open_files() - 1, len(asyncio.all_tasks())
    writer.close()
    await writer.wait_closed()
    await reader.read()
    return files, tasks


@pytest.mark.parametrize("first", BOTH_WAYS)
@pytest.mark.parametrize("begins", [True, False])
async def test_a_request_behind_a_broken_answer_ends_with_it(
    tmp_path: Path, first: bytes, *, begins: bool
) -> None:
    app = Failing(begins=begins)
    async with serving(tmp_path / "s", app) as served:
        files, tasks = await warmed(served)
        reader, writer = await served.connect()
        writer.write(first)
        await app.begun.wait()
        writer.write(first)
        for _ in range(10):  # turns enough for the server's socket to be read
            await asyncio.sleep(0)
        app.go_on.set()
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200" if begins else b"HTTP/1.1 500")
        assert answer.count(b"HTTP/1.1") == 1
        writer.close()
        await returned_to(files, tasks)


@pytest.mark.parametrize("request_bytes", BOTH_WAYS)
async def test_a_client_that_never_reads_is_left(tmp_path: Path, request_bytes: bytes) -> None:
    app = Streaming()
    async with serving(tmp_path / "s", app, idle=SHORT) as served:
        files, tasks = await warmed(served)
        _, writer = await served.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(request_bytes)
        await returned_to(files + 1, tasks)
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


@pytest.mark.parametrize("half", [HALF_A_HEAD, HALF_A_BODY, HALF_A_CHUNK])
async def test_half_a_request_is_waited_for_in_vain_only_so_long(
    tmp_path: Path, half: bytes
) -> None:
    async with serving(tmp_path / "s", Reading(), idle=SHORT) as served:
        files, tasks = await warmed(served)
        reader, writer = await served.connect()
        writer.write(half)
        assert await reader.read() == b""
        writer.close()
        await returned_to(files, tasks)


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
        assert await idle.read() == b""  # the patience is over
        second, second_writer = await served.connect()
        assert await second.read() == b""  # and over again
        app.go_on.set()
        assert (await reader.read()).endswith(b"firstsecond")
        for each in (writer, idle_writer, second_writer):
            each.close()


@pytest.mark.parametrize("half", [HALF_A_BODY, HALF_A_CHUNK])
async def test_an_application_learns_that_the_rest_will_not_come(
    tmp_path: Path, half: bytes
) -> None:
    app = Reading()
    async with serving(tmp_path / "s", app) as served:
        files, tasks = await warmed(served)
        _, writer = await served.connect()
        writer.write(half)
        await app.begun.wait()
        writer.transport.abort()
        await returned_to(files, tasks)
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


async def test_a_thousand_connections_come_and_go(tmp_path: Path) -> None:
    app = Answering()
    app.go_on.set()
    async with serving(tmp_path / "s", app) as served:
        files, tasks = await warmed(served)
        crowd = [await served.connect() for _ in range(400)]
        for number, (_, writer) in enumerate(crowd):
            writer.write([b"", HALF_A_HEAD, HALF_A_BODY, REQUEST, BY_H11][number % 5])
        assert b"firstsecond" in await served.ask(REQUEST)
        for _, writer in crowd:
            writer.transport.abort()
        await returned_to(files, tasks)


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
        files, tasks = await warmed(served)
        answer = await served.ask(sent)
        assert answer.startswith(b"HTTP/1.1 " + status)
        await returned_to(files, tasks)
