"""Events, WebSockets and large bodies pass nginx and the question to the gateway as they come."""

import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.guarded_edge import DECISION, GuardedEdge, response, start_guarded_edge
from tests.support.ports import ADDRESS
from tests.support.protected_sites import HOST
from tests.support.streaming_service import (
    BLOCK,
    DOWNLOADED_BLOCKS,
    StreamingService,
    streaming_service,
)

_ASKING = "auth_request /.realmgate/guard;"
UNLIMITED = {"realmgate/guard.conf": (_ASKING, f"{_ASKING} client_max_body_size 0;")}
_HANDSHAKE = (
    "GET /socket HTTP/1.1\r\nHost: {host}\r\nUpgrade: {upgrade}\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[tuple[GuardedEdge, StreamingService]]:
    """Run nginx before a service that streams."""
    prefix = tmp_path_factory.mktemp("streams")
    with (
        streaming_service(prefix / "streams.sock") as service,
        start_guarded_edge(
            prefix,
            edge_certificates,
            service=f"http://unix:{prefix}/streams.sock",
            changes=UNLIMITED,
        ) as edge,
    ):
        yield edge, service


@pytest.fixture
def edge(running: tuple[GuardedEdge, StreamingService]) -> GuardedEdge:
    """Return nginx, its gateway allowing everything."""
    running[0].forget()
    running[0].gateway.responses[DECISION] = response("200 OK")
    return running[0]


@pytest.fixture
def service(running: tuple[GuardedEdge, StreamingService]) -> StreamingService:
    """Return the service with nothing received."""
    running[1].upgrades.clear()
    running[1].upload_arrives.clear()
    running[1].next_event.clear()
    return running[1]


def _connect(edge: GuardedEdge) -> socket.socket:
    tls = ssl.create_default_context(cafile=edge.nginx.site.certificates / "ca.crt")
    connection = socket.create_connection((ADDRESS, edge.nginx.site.https_port), timeout=10)
    return tls.wrap_socket(connection, server_hostname="localhost")


def _ask(
    edge: GuardedEdge, method: str, path: str, content: bytes | None = None
) -> httpx2.Response:
    with edge.nginx.client() as client:
        url = f"{edge.nginx.https}{path}"
        return client.request(method, url, headers={"Host": HOST}, content=content)


def test_a_websocket_passes(edge: GuardedEdge, service: StreamingService) -> None:
    with _connect(edge) as connection:
        connection.sendall(_HANDSHAKE.format(host=HOST, upgrade="WebSocket").encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        assert head.startswith(b"HTTP/1.1 101 ")
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
        for _ in range(3):
            sent = os.urandom(40)
            connection.sendall(sent)
            assert connection.recv(len(sent)) == sent
    assert service.upgrades == ["websocket"]
    (asked,) = edge.gateway.received
    assert asked.all("Upgrade") == []


def test_a_websocket_needs_a_decision(edge: GuardedEdge, service: StreamingService) -> None:
    edge.refuse("401 Unauthorized")
    with _connect(edge) as connection:
        connection.sendall(_HANDSHAKE.format(host=HOST, upgrade="websocket").encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 401 ")
    assert service.upgrades == []


@pytest.mark.parametrize("upgrade", ["h2c", "HTTP/2.0", "websocket, h2c", "TLS/1.3", "anything"])
def test_no_other_protocol_passes(
    edge: GuardedEdge, service: StreamingService, upgrade: str
) -> None:
    """Requests of HTTP/2 inside such a connection would reach the service without a decision."""
    with _connect(edge) as connection:
        connection.sendall(_HANDSHAKE.format(host=HOST, upgrade=upgrade).encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 426 ")
    assert service.upgrades == [""]


def test_an_event_arrives_before_the_next_one_is_sent(
    edge: GuardedEdge, service: StreamingService
) -> None:
    url = f"{edge.nginx.https}/events"
    with edge.nginx.client() as client, client.stream("GET", url, headers={"Host": HOST}) as found:
        lines = found.iter_lines()
        assert next(line for line in lines if line) == "data: first"
        service.next_event.set()
        assert next(line for line in lines if line) == "data: second"


def test_an_upload_reaches_the_service_while_it_is_sent(
    edge: GuardedEdge, service: StreamingService
) -> None:
    def body() -> Iterator[bytes]:
        yield BLOCK
        assert service.upload_arrives.wait(10)
        yield from [BLOCK] * 319

    length = {"Content-Length": str(320 * len(BLOCK))}
    with edge.nginx.client() as client:
        found = client.post(
            f"{edge.nginx.https}/upload", headers={"Host": HOST, **length}, content=body()
        )
    assert found.status_code == 200
    assert service.uploaded == 320 * len(BLOCK)
    (asked,) = edge.gateway.received
    assert asked.body == b""


_CHALLENGE = 'WWW-Authenticate: Bearer realm="staff"'


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
@pytest.mark.parametrize("length", ["Content-Length: 30000000", "Transfer-Encoding: chunked"])
def test_an_upload_is_refused_before_its_body_is_sent(
    edge: GuardedEdge, service: StreamingService, status: str, length: str
) -> None:
    edge.refuse(status, _CHALLENGE)
    head = f"POST /upload HTTP/1.1\r\nHost: {HOST}\r\n{length}\r\n\r\n"
    with _connect(edge) as connection:
        connection.sendall(head.encode())
        found = connection.recv(4096).decode()
    assert found.startswith(f"HTTP/1.1 {status}")
    assert (_CHALLENGE in found) is status.startswith("401")
    assert service.upgrades == []


def test_a_refused_form_gets_the_page_of_the_gateway(
    edge: GuardedEdge, service: StreamingService
) -> None:
    for length in (0, 1, 64_999, 65_000, 70_000, 1_000_000):
        edge.refuse("401 Unauthorized", "X-Page: shown")
        found = _ask(edge, "POST", "/form", content=b"x" * length)
        assert found.status_code == 401
        assert ("X-Page" in found.headers) is (length < 65_000), length
        (asked,) = edge.gateway.received[1:] or edge.gateway.received
        assert asked.body == b""
        edge.gateway.received.clear()
    assert service.upgrades == []


def test_a_download_arrives_whole(edge: GuardedEdge, service: StreamingService) -> None:
    found = _ask(edge, "GET", "/download")
    assert len(found.content) == DOWNLOADED_BLOCKS * len(BLOCK)
    assert service.upgrades == [""]


def test_nothing_of_large_bodies_lies_in_files(
    edge: GuardedEdge, service: StreamingService
) -> None:
    _ask(edge, "POST", "/upload", content=BLOCK * 64)
    _ask(edge, "GET", "/download")
    assert service.uploaded == 64 * len(BLOCK)
    run = edge.nginx.prefix / "run"
    files = [path for path in run.rglob("*") if path.is_file() and "nginx-" in str(path)]
    assert files == []


def test_connections_to_gateway_and_service_are_kept(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    with start_guarded_edge(tmp_path, edge_certificates) as edge, edge.nginx.client() as client:
        for _ in range(10):
            client.get(f"{edge.nginx.https}/", headers={"Host": HOST})
        assert edge.gateway.connections <= 2
        assert edge.service.last.all("Connection") == []
