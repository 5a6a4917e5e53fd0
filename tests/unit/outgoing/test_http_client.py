"""Requests to URLs that clients name reach no other network and no other server.

Against real listeners on the loopback interface. attacks C20, C21
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from gateway.domain.ports.outgoing import DocumentUnavailable
from gateway.outgoing import AddressPolicy, GuardedHttpClient, Response
from gateway.outgoing.http_client import ClientLimits, parse_target

pytestmark = pytest.mark.anyio
LOOPBACK = AddressPolicy((ip_network("127.0.0.0/8"), ip_network("::1")))
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
QUICK = ClientLimits(time=timedelta(milliseconds=200))


@dataclass
class Server:
    """A listener that answers each request with the same bytes, and records what it was sent."""

    answer: bytes
    requests: list[bytes] = field(default_factory=list)
    port: int = 0
    may_answer: asyncio.Event | None = None
    waiting: int = 0
    most_waiting: int = 0
    several_wait: asyncio.Event = field(default_factory=asyncio.Event)
    connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = field(default_factory=dict)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections[writer] = asyncio.create_task(self.serve(reader, writer))

    async def close(self) -> None:
        """Close what is still open: what the end of the event loop finds open fails a test."""
        for writer, serving in self.connections.items():
            serving.cancel()
            writer.transport.abort()
        await asyncio.gather(*self.connections.values(), return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = [line for line in head.splitlines() if line.startswith(b"Content-Length")]
        body = await reader.readexactly(int(length[0].split()[1])) if length else b""
        self.requests.append(head + body)
        if self.may_answer is not None:
            self.waiting += 1
            self.most_waiting = max(self.most_waiting, self.waiting)
            if self.waiting > 1:
                self.several_wait.set()
            await self.may_answer.wait()
            self.waiting -= 1
        writer.write(self.answer)
        if not self.answer:
            await reader.read()
        writer.close()


@asynccontextmanager
async def listening(
    answer: bytes = OK, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    server = Server(answer)
    listener = await asyncio.start_server(server.accept, host, 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        await server.close()


def named(*addresses: str) -> Callable[[str, int], Awaitable[list[str]]]:
    """Return a name server that answers each question with the next of the addresses."""
    left = list(addresses)

    async def resolve(host: str, port: int) -> list[str]:
        del host, port
        return [left.pop(0) if len(left) > 1 else left[0]]

    return resolve


def certificate(pki: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    return context


async def test_a_document_is_requested_without_cookies_or_credentials() -> None:
    async with listening() as server:
        client = GuardedHttpClient(LOOPBACK, allow_http=True)
        url = f"http://127.0.0.1:{server.port}/jwks?v=1"
        assert await client.get(url) == Response(200, b"hello")
    lines = server.requests[0].decode().split("\r\n")
    assert lines[0] == "GET /jwks?v=1 HTTP/1.1"
    assert sorted(line.partition(":")[0] for line in lines[1:] if line) == [
        *("Accept", "Accept-Encoding", "Connection", "Host", "User-Agent")
    ]
    assert f"Host: 127.0.0.1:{server.port}" in lines


async def test_a_notice_is_posted_with_its_type() -> None:
    async with listening(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        client = GuardedHttpClient(LOOPBACK, allow_http=True)
        url = f"http://127.0.0.1:{server.port}/out"
        answer = await client.post(url, b"logout_token=x", "application/x-www-form-urlencoded")
    assert answer.status == 204
    assert server.requests[0].endswith(b"\r\n\r\nlogout_token=x")
    assert b"Content-Type: application/x-www-form-urlencoded\r\n" in server.requests[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_a_private_address_is_not_connected_to_unless_allowed(host: str) -> None:
    written = f"[{host}]" if ":" in host else host
    async with listening(host=host) as server:
        url = f"http://{written}:{server.port}/"
        with pytest.raises(DocumentUnavailable, match="no address that is allowed"):
            await GuardedHttpClient(AddressPolicy(), allow_http=True).get(url)
        assert server.requests == []
        allowed = await GuardedHttpClient(LOOPBACK, allow_http=True).get(url)
    assert allowed.body == b"hello"


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "localhost"])
async def test_another_spelling_of_an_address_is_the_same_address(host: str) -> None:
    async with listening() as server:
        url = f"http://{host}:{server.port}/"
        with pytest.raises(DocumentUnavailable, match="no address that is allowed"):
            await GuardedHttpClient(AddressPolicy(), allow_http=True).get(url)
    assert server.requests == []


async def test_a_name_that_changes_its_address_does_not_lead_inside() -> None:
    """The second answer of the name server is never asked for. attacks C21 (DNS rebinding)."""
    async with listening() as server:
        outside = AddressPolicy((ip_network("127.0.0.2"),))
        for first, second in (("127.0.0.2", "127.0.0.1"), ("127.0.0.1", "127.0.0.2")):
            client = GuardedHttpClient(outside, allow_http=True, resolver=named(first, second))
            with pytest.raises(DocumentUnavailable):
                await client.get(f"http://app.example:{server.port}/")
    assert server.requests == []


async def test_the_checked_address_is_used_and_the_name_is_sent() -> None:
    async with listening() as server:
        client = GuardedHttpClient(LOOPBACK, allow_http=True, resolver=named("127.0.0.1"))
        await client.get(f"http://app.example:{server.port}/")
    assert f"Host: app.example:{server.port}\r\n".encode() in server.requests[0]


async def test_a_server_is_verified_by_the_authorities_of_the_operator(pki: Path) -> None:
    async with listening(tls=certificate(pki)) as server:
        url = f"https://localhost:{server.port}/"
        with pytest.raises(DocumentUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            await GuardedHttpClient(LOOPBACK).get(url)
        client = GuardedHttpClient(LOOPBACK, authorities=pki / "ca.crt")
        assert (await client.get(url)).body == b"hello"


async def test_a_certificate_of_another_name_is_refused(pki: Path) -> None:
    async with listening(tls=certificate(pki)) as server:
        client = GuardedHttpClient(
            LOOPBACK, authorities=pki / "ca.crt", resolver=named("127.0.0.1")
        )
        with pytest.raises(DocumentUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            await client.get(f"https://app.example:{server.port}/")
    assert server.requests == []


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    async with listening() as inside:
        redirect = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{inside.port}/\r\n\r\n"
        async with listening(redirect.encode()) as server:
            client = GuardedHttpClient(LOOPBACK, allow_http=True)
            assert (await client.get(f"http://127.0.0.1:{server.port}/")).status == 302
    assert inside.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + b"x" * 70_000,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 70_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11170\r\n" + b"x" * 70_000,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000,
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
    ],
    ids=["long", "long-without-length", "long-in-chunks", "long-head", "not-http", "cut-off"],
)
async def test_a_huge_or_broken_answer_is_refused(answer: bytes) -> None:
    async with listening(answer) as server:
        url = f"http://127.0.0.1:{server.port}/"
        with pytest.raises(DocumentUnavailable):
            await GuardedHttpClient(LOOPBACK, allow_http=True).get(url)


async def test_a_slow_server_is_given_up() -> None:
    async with listening(b"") as server:
        client = GuardedHttpClient(LOOPBACK, allow_http=True, limits=QUICK)
        with pytest.raises(DocumentUnavailable, match="in time"):
            await client.get(f"http://127.0.0.1:{server.port}/")
    assert len(server.requests) == 1


async def test_a_slow_name_server_is_given_up() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return [host, str(port)]

    client = GuardedHttpClient(LOOPBACK, limits=QUICK, resolver=resolve)
    with pytest.raises(DocumentUnavailable, match="in time"):
        await client.get("https://app.example/")


async def test_few_requests_run_at_once() -> None:
    async with listening() as server:
        server.may_answer = asyncio.Event()
        limits = ClientLimits(time=timedelta(seconds=30), at_once=2)
        client = GuardedHttpClient(LOOPBACK, allow_http=True, limits=limits)
        url = f"http://127.0.0.1:{server.port}/"
        asked = [asyncio.create_task(client.get(url)) for _ in range(5)]
        await server.several_wait.wait()
        for _ in range(100):  # turns of the event loop, in which a third request would arrive
            await asyncio.sleep(0)
        server.may_answer.set()
        answers = await asyncio.gather(*asked)
    assert [answer.body for answer in answers] == [b"hello"] * 5
    assert server.most_waiting == 2


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
async def test_no_proxy_of_the_environment_is_used(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listening() as proxy, listening() as server:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        client = GuardedHttpClient(LOOPBACK, allow_http=True)
        await client.get(f"http://127.0.0.1:{server.port}/")
    assert (len(proxy.requests), len(server.requests)) == (0, 1)


@pytest.mark.parametrize(
    "url",
    [
        *("http://app.example/", "ftp://app.example/", "file:///etc/passwd", "app.example", ""),
        *("https://user@app.example/", "https://user:secret@app.example/", "https://@a.example/"),
        *("https:///path", "https://", "https://app.example:0/", "https://app.example:99999/"),
        *("https://app.example/\r\nHost: b", "https://app.example/ x", "https://ä.example/"),
        *("https://app.example\\@b.example/", "https://[::1", "https://a,b/", "https://a%2eb/"),
        *("https://[fe80::1%25lo]/", "https://app.example/" + "x" * 2048, "unix:/run/x.sock"),
    ],
)
def test_a_url_that_is_not_plain_https_is_refused(url: str) -> None:
    with pytest.raises(DocumentUnavailable):
        parse_target(url, allow_http=False)
