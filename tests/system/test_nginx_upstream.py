"""The way from nginx to the gateways: connections are kept, and failures are not doubled.

Attacks F1, F14; docs/reference/figures-and-traps.md#traps-of-nginx-and-hypercorn
"""

import re
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from gateway.cli.nginx import PlainHttp
from gateway.supervisor.server.connections import KEEP_ALIVE
from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import (
    DEADLINE,
    Edge,
    RunningNginx,
    changed_source,
    make_prefix,
    start_edge,
    start_nginx,
)
from tests.support.nginx_dump import dump, proxying_locations
from tests.support.ports import ADDRESS
from tests.support.recording_upstream import RecordingUpstream, recording_upstream

REQUESTS = 200


@contextmanager
def two_gateways(
    prefix: Path, certificates: EdgeCertificates
) -> Iterator[tuple[RunningNginx, RecordingUpstream, RecordingUpstream]]:
    """Run an nginx of one worker before two gateways."""
    make_prefix(prefix)
    one_worker = {"realmgate.conf": ("worker_processes auto;", "worker_processes 1;")}
    with (
        recording_upstream(prefix / "run/first.sock") as first,
        recording_upstream(prefix / "run/second.sock") as second,
        start_nginx(
            prefix,
            certificates.folder,
            [first.address, second.address],
            source=changed_source(prefix, one_worker),
        ) as nginx,
    ):
        yield nginx, first, second


def forwarding_edge(
    prefix: Path, certificates: EdgeCertificates, **options: Path
) -> AbstractContextManager[Edge]:
    """Run an nginx that forwards plain HTTP too."""
    return start_edge(prefix, certificates.folder, plain_http=PlainHttp.FORWARD, **options)


def connection_to(edge: Edge) -> socket.socket:
    """Open a connection to the plain HTTP listener."""
    return socket.create_connection((ADDRESS, edge.nginx.site.http_port), timeout=DEADLINE)


def test_connections_to_the_gateway_are_kept_in_every_location(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    with (
        forwarding_edge(tmp_path, edge_certificates) as edge,
        edge.nginx.client("device-1") as client,
    ):
        upstream = edge.upstream
        locations = list(proxying_locations(edge.nginx))
        assert len(locations) == 20
        for location in locations:
            upstream.forget()
            for number in range(REQUESTS):
                path = "fail/503" if number % 10 == 0 else "token"
                client.request("POST" if number % 2 else "GET", f"{location.url}{path}")
            assert len(upstream.received) == REQUESTS
            assert upstream.connections <= 2, location
            assert {received.version for received in upstream.received} == {"HTTP/1.1"}


def test_nginx_drops_idle_connections_before_the_gateway_does(edge: Edge) -> None:
    (http,) = dump(edge.nginx.prefix, edge.nginx.configuration).children("http")
    (upstream,) = http.children("upstream")
    seconds = re.fullmatch(r"(\d+)s", upstream.value("keepalive_timeout"))
    assert seconds
    assert int(seconds[1]) < KEEP_ALIVE.total_seconds() / 2
    assert int(upstream.value("keepalive_requests")) >= 1_000_000
    assert int(upstream.value("keepalive")) >= 64


def test_a_post_that_was_sent_is_never_sent_again(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    with two_gateways(tmp_path, edge_certificates) as (nginx, first, second):
        first.failing = True
        with nginx.client() as client:
            statuses = [
                client.post(f"{nginx.https}/token", content=b"x").status_code for _ in range(6)
            ]
    bodies = [received.body for received in (*first.received, *second.received)]
    assert bodies == [b"x"] * 6
    assert statuses.count(502) == len(first.received) > 0
    assert statuses.count(200) == len(second.received) > 0


def test_a_get_is_tried_on_another_gateway(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    with two_gateways(tmp_path, edge_certificates) as (nginx, first, second):
        first.failing = True
        with nginx.client() as client:
            statuses = {client.get(f"{nginx.https}/certs").status_code for _ in range(6)}
    assert statuses == {200}
    assert first.received
    assert len(second.received) == 6


def test_requests_go_on_when_one_gateway_is_stopped(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    """Nothing was sent to a gateway that cannot be reached, so even a POST goes to the other."""
    prefix = make_prefix(tmp_path)
    with ExitStack() as first_gateway, recording_upstream(prefix / "run/second.sock") as second:
        first = first_gateway.enter_context(recording_upstream(prefix / "run/first.sock"))
        upstreams = [first.address, second.address]
        with start_nginx(prefix, edge_certificates.folder, upstreams) as nginx:
            first_gateway.close()
            with nginx.client() as client:
                statuses = [
                    client.post(f"{nginx.https}/token", content=b"x").status_code for _ in range(20)
                ]
    assert statuses == [200] * 20
    assert len(second.received) == 20


def test_one_hiccup_of_all_gateways_does_not_close_the_door(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    with (
        two_gateways(tmp_path, edge_certificates) as (nginx, first, second),
        nginx.client() as client,
    ):
        first.failing = second.failing = True
        assert client.get(f"{nginx.https}/certs").status_code == 502
        assert (len(first.received), len(second.received)) == (1, 1)
        first.failing = second.failing = False
        assert client.get(f"{nginx.https}/certs").status_code == 200


def test_the_only_gateway_is_back_with_its_first_request(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    socket_path = make_prefix(tmp_path) / "run/gateway.sock"
    with (
        start_nginx(tmp_path, edge_certificates.folder, [f"unix:{socket_path}"]) as nginx,
        nginx.client() as client,
    ):
        assert {client.get(nginx.https).status_code for _ in range(10)} == {502}
        with recording_upstream(socket_path):
            assert client.get(nginx.https).status_code == 200


def test_a_body_that_comes_slowly_does_not_occupy_the_gateway(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    head = b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
    with (
        forwarding_edge(tmp_path, edge_certificates) as edge,
        connection_to(edge) as slow,
        edge.nginx.client() as client,
    ):
        slow.sendall(head + b"ab")
        assert client.get(f"{edge.nginx.http}/quick").status_code == 200
        assert [received.target for received in edge.upstream.received] == ["/quick"]
        slow.sendall(b"cd")
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")
    assert edge.upstream.last.body == b"abcd"


def unannounced(size: int) -> Iterator[bytes]:
    """Yield a body whose length nobody knows beforehand."""
    for _ in range(size // 1024):
        yield b"x" * 1024


def test_bodies_with_their_secrets_are_never_written_to_a_file(edge: Edge) -> None:
    folder = edge.nginx.prefix / "run/nginx-body"
    before = folder.stat().st_mtime_ns
    for http2 in (False, True):
        with edge.nginx.client(http2=http2) as client:
            for body in (b"x" * 65_536, unannounced(65_536)):
                response = client.post(f"{edge.nginx.https}/token", content=body)
                assert response.status_code == 200
    assert [len(received.body) for received in edge.upstream.received] == [65_536] * 4
    assert folder.stat().st_mtime_ns == before


def test_answers_with_their_tokens_are_never_written_to_a_file(edge: Edge) -> None:
    (http,) = dump(edge.nginx.prefix, edge.nginx.configuration).children("http")
    proxying = [block for block in http.walk() if any(block.children("proxy_pass"))]
    assert {block.value("proxy_max_temp_file_size") for block in proxying} == {"0"}
    assert len(proxying) > 15


@pytest.mark.parametrize(
    "beginning",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab",
    ],
)
def test_callers_who_never_finish_are_cut_off(
    tmp_path: Path, edge_certificates: EdgeCertificates, beginning: bytes
) -> None:
    header, body = "client_header_timeout 10s;\n", "client_body_timeout 5s;\n"
    hurry = "client_header_timeout 200ms;\nclient_body_timeout 200ms;\n"
    hurried = {"realmgate/server.conf": (header + body, hurry)}
    source = changed_source(tmp_path, hurried)
    with (
        forwarding_edge(tmp_path, edge_certificates, source=source) as edge,
        connection_to(edge) as slow,
    ):
        slow.sendall(beginning)
        with pytest.raises(ConnectionResetError):
            slow.recv(4096)
    assert not edge.upstream.received
