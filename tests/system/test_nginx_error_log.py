"""The error log: what befalls nginx itself, and never what a caller wrote.

nginx quotes request line, Host and Referer in it, and filters nothing: attacks on secrets in logs.
"""

import os
import signal
from pathlib import Path

import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import RunningNginx, make_prefix, polling, start_edge, start_nginx

CANARY = "canary-2b8d41f6e7"
TARGET = f"/realms/demo/protocol/openid-connect/token?client_secret={CANARY}"
SPOKEN = {"Referer": f"https://localhost/?code={CANARY}", "Authorization": f"Bearer {CANARY}"}


def error_log(nginx: RunningNginx) -> str:
    """Return the error log as it stands."""
    return (nginx.prefix / "logs/error.log").read_text()


@pytest.mark.parametrize("socket_left_behind", [False, True])
def test_no_request_is_quoted_when_the_gateway_is_down(
    tmp_path: Path, edge_certificates: EdgeCertificates, *, socket_left_behind: bool
) -> None:
    """A socket that is gone is `crit` to nginx, one that refuses is `error`."""
    path = make_prefix(tmp_path) / "run/gateway.sock"
    with start_nginx(tmp_path, edge_certificates.folder, [f"unix:{path}"]) as nginx:
        if socket_left_behind:
            path.touch()
        with nginx.client() as client:
            response = client.post(f"{nginx.https}{TARGET}", headers=SPOKEN)
        assert response.status_code == 502
        assert nginx.log_entry(response.headers["x-request-id"])["upstream_status"] == "502"
        assert CANARY not in error_log(nginx)


def test_no_refused_request_is_quoted(tmp_path: Path, edge_certificates: EdgeCertificates) -> None:
    line = f"POST {TARGET} HTTP/1.1\r\nConnection: close\r\nReferer: https://x/?{CANARY}\r\n"
    with start_edge(tmp_path, edge_certificates.folder) as edge:
        nginx = edge.nginx
        for ending in ("Host: a b\r\n\r\n", f"Host: localhost\r\nX {CANARY}: 1\r\n\r\n", "\r\n"):
            nginx.raw(nginx.site.http_port, (line + ending).encode())
        with nginx.client() as client:
            statuses = [
                client.post(url, headers=SPOKEN, content=content).status_code
                for url, content in (
                    (f"{nginx.https}{TARGET}", b"x" * 65_537),
                    (f"{nginx.mtls}{TARGET}", b""),
                )
            ]
            edge.upstream.failing = True
            statuses.append(client.post(f"{nginx.https}{TARGET}", headers=SPOKEN).status_code)
        assert statuses == [413, 400, 502]
        assert CANARY not in error_log(nginx)


def test_what_befalls_nginx_itself_is_still_recorded(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    path = make_prefix(tmp_path) / "run/gateway.sock"
    with start_nginx(tmp_path, edge_certificates.folder, [f"unix:{path}"]) as nginx:
        nginx.configuration.write_text("nonsense;")
        os.kill(nginx.pid, signal.SIGHUP)
        for _ in polling():
            if 'unknown directive "nonsense"' in error_log(nginx):
                break
        assert 'unknown directive "nonsense"' in error_log(nginx)
