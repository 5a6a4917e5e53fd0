"""The connection to Redis, the messages of invalidation, and the private server."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.secrets import Secret
from gateway.storage.redis import connection
from gateway.storage.redis.connection import (
    FAILURES,
    CircuitOpen,
    FairConnectionPool,
    NoFreeConnection,
    check_server,
    create_client,
    ping,
)
from gateway.storage.redis.invalidation import CHANNEL, RedisInvalidation
from gateway.storage.redis.private_server import PrivateRedis
from tests.support.deadline import eventually, eventually_succeeds
from tests.support.redis_server import RedisServer

_STARTER = """
import sys, pathlib, signal
from gateway.storage.redis.private_server import PrivateRedis
server = PrivateRedis(pathlib.Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
sys.stdin.read()
server.stop()
"""


class Heard:
    """Listens to an invalidation and remembers."""

    def __init__(self, invalidation: RedisInvalidation) -> None:
        self.topics: list[str | None] = []
        invalidation.subscribe(self.topics.append)


@pytest.fixture
async def invalidation(own_redis: RedisServer) -> AsyncIterator[RedisInvalidation]:
    opened = RedisInvalidation(own_redis.url, silence=0.1)
    await opened.start()
    await eventually(lambda: opened.connected)
    yield opened
    await opened.stop()


async def test_a_server_that_evicts_nothing_is_accepted(redis_server: RedisServer) -> None:
    client = create_client(redis_server.url)
    assert await check_server(client) == ()
    await client.aclose()


async def test_a_server_that_evicts_is_refused(own_redis: RedisServer) -> None:
    with own_redis.client() as plain:
        plain.config_set("maxmemory-policy", "allkeys-lru")
    client = create_client(own_redis.url)
    with pytest.raises(InvalidInput, match=r"maxmemory-policy: allkeys-lru given, noeviction"):
        await check_server(client)
    await client.aclose()


async def test_a_user_without_info_gets_a_warning(own_redis: RedisServer) -> None:
    with own_redis.client() as plain:
        plain.execute_command("ACL", "SETUSER", "gate", "on", ">word", "~*", "&*", "+@all", "-info")
    url = own_redis.url.reveal().replace("unix://", "unix://gate:word@")
    client = create_client(Secret(url))
    (warning,) = await check_server(client)
    assert "noeviction" in warning
    await client.aclose()


async def test_a_wrong_password_is_an_outage_that_does_not_tell_it(own_redis: RedisServer) -> None:
    with own_redis.client() as plain:
        plain.execute_command("ACL", "SETUSER", "gate", "on", ">word", "~*", "+@all")
    url = own_redis.url.reveal().replace("unix://", "unix://gate:canary@")
    client = create_client(Secret(url))
    with pytest.raises(StoreUnavailable) as caught:
        await ping(client)
    assert "canary" not in f"{caught.value} {caught.value.__cause__}"
    await client.aclose()


@pytest.mark.parametrize(
    "url", ["http://canary@x/", "redis://:canary@h/?db=x", "redis://canary/?no_such_option=1"]
)
def test_a_wrong_url_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        create_client(Secret(url))
    assert "canary" not in str(caught.value)


async def test_a_server_that_is_gone_is_an_outage(own_redis: RedisServer) -> None:
    client = create_client(own_redis.url)
    await ping(client)
    own_redis.stop()
    with pytest.raises(StoreUnavailable):
        await ping(client)
    own_redis.start()
    await eventually_succeeds(lambda: ping(client), StoreUnavailable)
    await client.aclose()


async def test_a_message_reaches_the_other_gateway_and_ourselves(
    invalidation: RedisInvalidation, own_redis: RedisServer
) -> None:
    other = RedisInvalidation(own_redis.url)
    await other.start()
    await eventually(lambda: other.connected)
    ours, theirs = Heard(invalidation), Heard(other)
    await invalidation.publish(["realm:one"])
    assert "realm:one" in ours.topics, "the writer's own cache does not wait for the server"
    await eventually(lambda: "realm:one" in theirs.topics)
    await other.stop()


async def test_after_a_reconnection_listeners_learn_of_missed_messages(
    invalidation: RedisInvalidation, own_redis: RedisServer
) -> None:
    heard = Heard(invalidation)
    own_redis.stop()
    await eventually(lambda: not invalidation.connected)
    with pytest.raises(StoreUnavailable):
        await invalidation.publish(["realm:one"])
    own_redis.start()
    await eventually(lambda: invalidation.connected, within=2.0)
    assert heard.topics == ["realm:one", None]


async def test_a_server_that_falls_silent_counts_as_lost(
    invalidation: RedisInvalidation, own_redis: RedisServer
) -> None:
    """A half-open connection gives no error; only silence tells."""
    assert own_redis._process is not None
    own_redis._process.send_signal(signal.SIGSTOP)
    await eventually(lambda: not invalidation.connected)
    own_redis._process.send_signal(signal.SIGCONT)
    await eventually(lambda: invalidation.connected, within=4.0)


async def test_a_silent_channel_on_a_living_server_stays_connected(
    invalidation: RedisInvalidation, own_redis: RedisServer
) -> None:
    """Five times the silence pass, each ended by an answered question."""
    heard = Heard(invalidation)

    def pings() -> int:
        with own_redis.client() as plain:
            calls: int = plain.info("commandstats").get("cmdstat_ping", {}).get("calls", 0)
            return calls

    before = pings()
    await eventually(lambda: pings() >= before + 5)
    assert invalidation.connected
    assert heard.topics == []


async def test_without_the_server_all_topics_are_invalidated_here(
    invalidation: RedisInvalidation, own_redis: RedisServer
) -> None:
    heard = Heard(invalidation)
    own_redis.stop()
    await eventually(lambda: not invalidation.connected)
    with pytest.raises(StoreUnavailable):
        await invalidation.publish(["user:one", "client:two", "user:one", "realm:three"])
    assert heard.topics == ["user:one", "client:two", "realm:three"]


async def test_a_hanging_server_opens_the_circuit_until_it_answers(
    own_redis: RedisServer,
) -> None:
    client = create_client(own_redis.url)
    await ping(client)
    os.kill(own_redis.pid, signal.SIGSTOP)
    try:
        for _ in range(FAILURES):
            assert not client.breaker.is_open
            with pytest.raises(StoreUnavailable):
                await ping(client)
        assert client.breaker.is_open
        with pytest.raises(StoreUnavailable) as refused:
            await asyncio.gather(*(ping(client) for _ in range(100)))
        assert isinstance(refused.value.__cause__, CircuitOpen)
    finally:
        os.kill(own_redis.pid, signal.SIGCONT)
    await eventually(lambda: not client.breaker.is_open)
    await ping(client)
    await client.aclose()


async def test_who_asks_first_for_a_connection_gets_it_first(redis_server: RedisServer) -> None:
    pool = FairConnectionPool.from_url(redis_server.url.reveal(), max_connections=1)
    order: list[int] = []

    async def use(number: int) -> None:
        connection = await pool.get_connection()
        order.append(number)
        await pool.release(connection)

    held = await pool.get_connection()
    waiting = [asyncio.create_task(use(number)) for number in range(5)]
    await asyncio.sleep(0)
    await pool.release(held)
    await asyncio.gather(use(5), *waiting)
    assert order == list(range(6))
    await pool.aclose()


async def test_where_every_connection_stays_in_use_a_caller_is_refused(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "FREE_CONNECTION", timedelta(milliseconds=50))
    pool = FairConnectionPool.from_url(redis_server.url.reveal(), max_connections=1)
    held = await pool.get_connection()
    with pytest.raises(NoFreeConnection):
        await pool.get_connection()
    await pool.release(held)
    await pool.release(await pool.get_connection())
    await pool.aclose()


async def test_cancelled_calls_lose_no_connection(redis_server: RedisServer) -> None:
    client = create_client(redis_server.url)
    for steps in range(40):
        calls = [asyncio.create_task(ping(client)) for _ in range(40)]
        for _ in range(steps):
            await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    assert not client.connection_pool._in_use_connections
    await asyncio.gather(*(ping(client) for _ in range(100)))
    await client.aclose()


async def test_calls_during_a_blocked_event_loop_are_answered(
    redis_server: RedisServer,
) -> None:
    client = create_client(redis_server.url)
    calls = [asyncio.create_task(ping(client)) for _ in range(100)]
    await asyncio.sleep(0)
    time.sleep(1.1 * connection.FREE_CONNECTION.total_seconds())  # noqa: ASYNC251 - on purpose
    await asyncio.gather(*calls)
    await client.aclose()


async def test_an_error_of_the_server_opens_no_circuit(
    redis_server: RedisServer,
) -> None:
    client = create_client(redis_server.url)
    for _ in range(2 * FAILURES):
        with pytest.raises(ResponseError):
            await client.execute_command("NO-SUCH-COMMAND")
    assert not client.breaker.is_open
    await client.aclose()


async def test_an_endless_topic_is_not_passed_on(
    invalidation: RedisInvalidation, own_redis: RedisServer
) -> None:
    heard = Heard(invalidation)
    with own_redis.client() as plain:
        plain.publish(CHANNEL, "x" * 1_000_000)
        plain.publish(CHANNEL, "realm:after")
    await eventually(lambda: heard.topics != [])
    assert heard.topics == ["realm:after"]


@pytest.fixture
def private(tmp_path: Path) -> Iterator[PrivateRedis]:
    server = PrivateRedis(tmp_path)
    server.start()
    yield server
    server.stop()


async def test_the_private_server_keeps_what_it_was_given(private: PrivateRedis) -> None:
    async with create_client(private.url) as client:
        assert await check_server(client) == ()
        assert (await client.config_get("appendfsync"))["appendfsync"] == "everysec"
        await client.set("lockout", "1")
    private.stop()
    assert private.pid is None
    private.start()
    async with create_client(private.url) as client:
        assert await client.get("lockout") == "1"


@pytest.mark.usefixtures("private")
def test_the_private_server_is_for_its_user_alone(tmp_path: Path) -> None:
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0
    assert (tmp_path / "run" / "redis.sock").stat().st_mode & 0o077 == 0


def test_processes_of_one_state_folder_share_the_starters_server(
    tmp_path: Path,
) -> None:
    first, second = PrivateRedis(tmp_path), PrivateRedis(tmp_path)
    first.start()
    try:
        second.start()
        assert second.pid == first.pid
        second.stop()
        assert first.pid is not None
    finally:
        first.stop()
    assert first.pid is None


def test_a_server_that_outlived_its_starter_is_taken_over(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _STARTER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.kill()
    successor = PrivateRedis(tmp_path)
    successor.start()
    assert successor.pid == pid
    successor.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_left_over_socket_does_not_hinder_a_start(private: PrivateRedis, tmp_path: Path) -> None:
    assert private.pid is not None
    os.kill(private.pid, signal.SIGKILL)
    private.stop()
    assert (tmp_path / "run" / "redis.sock").exists()
    private.start()
    assert private.pid is not None
