"""How much of nginx one caller can hold: connections, and the time that a request may take."""

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from gateway.cli.nginx import PlainHttp
from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import (
    DEADLINE,
    Edge,
    RunningNginx,
    polling,
    start_edge,
)
from tests.support.nginx_dump import dump
from tests.support.ports import ADDRESS

BOUND = 3
BEGINNING = b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\nab"
TOKEN_ENDPOINT = "/realms/demo/protocol/openid-connect/token"


def status(nginx: RunningNginx) -> int:
    """Return the status of a request of a caller who does not linger."""
    with nginx.client() as client:
        return client.get(f"{nginx.http}/quick").status_code


def test_one_address_holds_no_more_connections_than_its_share(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    with (
        start_edge(
            tmp_path,
            edge_certificates.folder,
            plain_http=PlainHttp.FORWARD,
            connections_per_address=BOUND,
        ) as edge,
        ExitStack() as held,
    ):
        nginx = edge.nginx
        assert status(nginx) == 200
        connections = [
            held.enter_context(socket.create_connection((ADDRESS, nginx.site.http_port), DEADLINE))
            for _ in range(BOUND)
        ]
        for connection in connections:
            connection.sendall(BEGINNING)
        with nginx.client() as client:
            for _ in polling():
                for connection in connections:
                    connection.sendall(b"x")  # a body that pauses ends the request
                response = client.post(f"{nginx.https}{TOKEN_ENDPOINT}")
                if response.status_code == 429:
                    break
        assert (response.status_code, response.headers["retry-after"]) == (429, "2")
        assert response.json()["error"] == "temporarily_unavailable"
        held.close()
        for _ in polling():
            if status(nginx) == 200:
                break
        assert status(nginx) == 200


def test_every_server_bounds_connections_and_waiting(edge: Edge) -> None:
    (http,) = dump(edge.nginx.prefix, edge.nginx.configuration).children("http")
    for server in http.children("server"):
        assert server.value("limit_conn") == "realmgate_addresses 512"
        assert server.value("client_body_timeout") == "5s"
        assert server.value("lingering_time") == "5s"
        assert server.value("lingering_timeout") == "2s"


def test_bodies_of_the_admin_api_may_be_large_and_no_others(edge: Edge) -> None:
    larger, too_large = b"x" * 1024 * 1024, b"x" * (33 * 1024 * 1024)
    for path, allowed in (
        ("/admin/realms", True),
        ("/auth/admin/realms/demo/partialImport", True),
        (TOKEN_ENDPOINT, False),
        ("/administration", False),
    ):
        with edge.nginx.client() as client:
            url = f"{edge.nginx.https}{path}"
            assert (client.post(url, content=larger).status_code == 413) is not allowed
            if allowed:
                assert client.post(url, content=too_large).status_code == 413


@pytest.mark.parametrize(("size", "allowed"), [(60_000, True), (70_000, False)])
def test_the_token_of_an_administrator_of_many_realms_passes(
    edge: Edge, size: int, *, allowed: bool
) -> None:
    with edge.nginx.client() as client:
        headers = {"Authorization": f"Bearer {'x' * size}"}
        answer = client.get(f"{edge.nginx.https}/quick", headers=headers)
    assert (answer.status_code < 400) is allowed
