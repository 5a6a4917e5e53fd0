"""A request is judged by the rules of the site that its server protects, whatever host it names.

The default server of a listener gets each request whose host no server has. Were such a host that
of another site, its rules would decide about services they are not for. attacks: A21, B4
"""

import ssl
from pathlib import Path

import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.protected_sites import (
    DEVICE_HOST,
    HOST,
    OPEN_HOST,
    PROXY_SECRET,
    Protected,
    start_protected,
)


def _raw(protected: Protected, head: str) -> int:
    """Send a request as it is; return the status."""
    tls = ssl.create_default_context(cafile=protected.certificates.folder / "ca.crt")
    request = f"{head}\r\nConnection: close\r\n\r\n".encode()
    found = protected.nginx.raw(protected.nginx.site.https_port, request, tls)
    return int(found.split(b" ", 2)[1])


def _decided(protected: Protected, host: str, server: str | None) -> tuple[int, str]:
    """Ask the gateway as the server of nginx with this name; return status and reason."""
    headers = {
        "X-Realmgate-Proxy-Secret": PROXY_SECRET,
        "X-Forwarded-Proto": "https",
        "X-Original-Request": "GET /public/ HTTP/1.1",
        "X-Forwarded-Host": host,
    }
    if server is not None:
        headers["X-Realmgate-Server"] = server
    with protected.gateway.client() as http:
        found = http.get("/.realmgate/guard/nginx", headers=headers)
    return found.status_code, found.headers.get("X-Realmgate-Reason", "")


def test_another_sites_host_does_not_open_the_default_server(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    """Nginx has no server of the open site here, whose rule lets every caller pass."""
    servers = {"servers": (f'{HOST} ""', DEVICE_HOST), "as_default": True}
    with start_protected(tmp_path, edge_certificates, servers) as protected:
        for listener in ("https", "mtls", "self_signed"):
            found = protected.ask(
                "/home/", host=OPEN_HOST, listener=listener, certificate="device-1"
            )
            assert found.status_code == 403
        assert protected.service.received == []
        assert _raw(protected, "GET /home/ HTTP/1.0") == 401
        assert _raw(protected, "GET /health HTTP/1.0") == 200
        assert protected.service.last.all("Host") == [HOST]


@pytest.mark.parametrize(
    "head",
    [
        f"GET https://{OPEN_HOST}/home/ HTTP/1.1\r\nHost: {HOST}",
        f"GET https://{HOST}/home/ HTTP/1.1\r\nHost: {OPEN_HOST}",
        f"GET /home/ HTTP/1.1\r\nHost: {HOST}\r\nHost: {OPEN_HOST}",
        f"GET /home/ HTTP/1.1\r\nHost: {HOST}\r\nX-Forwarded-Host: {OPEN_HOST}",
        f"GET /home/ HTTP/1.1\r\nHost: {HOST}\r\nX-Realmgate-Server: {OPEN_HOST}",
        f"GET /home/ HTTP/1.1\r\nHost: {HOST}\r\nX-Original-Request: GET /public/ HTTP/1.1",
        f"GET /home/ HTTP/1.1\r\nHost: {HOST},{OPEN_HOST}",
        f"GET /home/ HTTP/1.1\r\nHost: {HOST}@{OPEN_HOST}",
        f"GET /home/ HTTP/1.1\r\nHost: {HOST}:443:443",
        f"GET /home/ HTTP/1.1\r\nHost: {HOST}.",
        f"GET /home/ HTTP/1.1\r\nHost : {OPEN_HOST}",
        "GET /home/ HTTP/1.1\r\nHost:",
        "GET /home/ HTTP/1.0",
    ],
)
def test_no_way_of_naming_two_hosts_opens_a_site(protected: Protected, head: str) -> None:
    assert _raw(protected, head) in {400, 401, 403, 404, 421}
    assert protected.service.received == []


def test_a_host_may_have_capitals_and_the_port_of_its_scheme(
    protected: Protected,
) -> None:
    for host in (HOST.upper(), f"{HOST}:443"):
        assert _raw(protected, f"GET /health HTTP/1.1\r\nHost: {host}") == 200
        assert protected.service.last.all("Host") == [host]


@pytest.mark.parametrize(
    ("host", "server", "decision"),
    [
        (HOST, HOST, (200, "")),
        (f"{HOST}:443", HOST, (200, "")),
        (HOST, "*.example.test", (403, "unknown_host")),
        (HOST, f"{HOST}:443", (200, "")),
        (HOST, f"{HOST.upper()}:8443", (200, "")),
        (HOST, f"{OPEN_HOST}:443", (403, "unknown_host")),
        (HOST, "*.elsewhere.test", (403, "unknown_host")),
        (HOST, "*.pp.example.test", (403, "unknown_host")),
        (HOST, DEVICE_HOST, (403, "unknown_host")),
        (OPEN_HOST, HOST, (403, "unknown_host")),
        (HOST, "~^(?<name>.+)$:443", (403, "ambiguous_request")),
        (HOST, "_", (403, "ambiguous_request")),
        (HOST, "", (403, "ambiguous_request")),
        (HOST, ":443", (403, "ambiguous_request")),
        (HOST, None, (403, "ambiguous_request")),
        (f"{HOST}:443:443", HOST, (403, "ambiguous_request")),
        (f"{HOST}@{OPEN_HOST}", HOST, (403, "ambiguous_request")),
        (f"{HOST}/", HOST, (403, "ambiguous_request")),
        (f"{HOST}.", HOST, (403, "ambiguous_request")),
        (f"{HOST}:0443", HOST, (403, "ambiguous_request")),
    ],
)
def test_the_server_of_nginx_has_a_name_of_the_site(
    protected: Protected, host: str, server: str | None, decision: tuple[int, str]
) -> None:
    """attacks: B1, B4."""
    assert _decided(protected, host, server) == decision
