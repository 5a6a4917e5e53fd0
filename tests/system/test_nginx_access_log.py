"""The access log: one JSON object a request, its id the gateway's, and nothing secret in it."""

import json
import re

import pytest
from cryptography import x509

from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import PROXY_SECRET, Edge, polling

CANARY = "canary-7f3a91c04d"
FIELDS = {
    "time",
    "request_id",
    "remote_address",
    "port",
    "protocol",
    "method",
    "path",
    "status",
    "bytes_received",
    "bytes_sent",
    "seconds",
    "connection",
    "connection_requests",
    "upstream",
    "upstream_status",
    "upstream_connect_seconds",
    "upstream_header_seconds",
    "upstream_seconds",
    "tls",
    "tls_cipher",
    "client_certificate_verify",
    "client_certificate_serial",
}


def test_logs_and_callers_share_one_request_id_of_nginx(edge: Edge) -> None:
    with edge.nginx.client("device-1") as client:
        url = f"{edge.nginx.mtls}/realms/demo"
        response = client.get(url, headers={"X-Request-Id": "chosen-by-the-caller"})
    (request_id,) = response.headers.get_list("x-request-id")
    assert re.fullmatch("[0-9a-f]{32}", request_id)
    assert edge.upstream.last.all("x-request-id") == [request_id]
    assert edge.nginx.log_entry(request_id)["path"] == "/realms/demo"


def test_an_entry_says_who_asked_what_and_how_long_it_took(
    edge: Edge, edge_certificates: EdgeCertificates
) -> None:
    with edge.nginx.client("device-1", http2=True) as client:
        response = client.post(f"{edge.nginx.mtls}/realms/demo?a=b", content=b"x")
    entry = edge.nginx.log_entry(response.headers["x-request-id"])
    assert set(entry) == FIELDS
    assert entry["method"] == "POST"
    assert entry["path"] == "/realms/demo"
    assert entry["status"] == entry["upstream_status"] == "200"
    assert entry["protocol"] == "HTTP/2.0"
    assert entry["port"] == str(edge.nginx.site.mtls_port)
    assert entry["upstream"] == edge.upstream.address
    assert entry["tls"] == "TLSv1.3"
    assert entry["client_certificate_verify"] == "SUCCESS"
    certificate = x509.load_pem_x509_certificate(
        edge_certificates.pair("device-1").with_suffix(".crt").read_bytes()
    )
    assert int(entry["client_certificate_serial"], 16) == certificate.serial_number
    # nginx takes the one from the time of day, the other from a clock that only goes forward.
    assert float(entry["seconds"]) + 0.002 >= float(entry["upstream_seconds"]) >= 0


@pytest.mark.parametrize("method", ["POST", "GET", "HEAD", "DELETE"])
@pytest.mark.parametrize("http2", [False, True])
def test_the_method_of_a_refused_request_is_the_callers(
    edge: Edge,
    method: str,
    http2: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """The answer is the error page of nginx, which it gets by an internal redirect."""
    with edge.nginx.client(http2=http2) as client:
        response = client.request(method, f"{edge.nginx.mtls}/realms/demo")
    assert response.status_code == 400
    entry = edge.nginx.log_entry(response.headers["x-request-id"])
    assert (entry["method"], entry["path"]) == (method, "/realms/demo")


@pytest.mark.parametrize("failing", ["", "/fail/503", "/fail/close"])
def test_no_secret_reaches_the_log(edge: Edge, failing: str) -> None:
    path = failing or "/realms/demo/protocol/openid-connect/token"
    with edge.nginx.client("device-1") as client:
        response = client.post(
            f"{edge.nginx.mtls}{path}?code={CANARY}&client_secret={CANARY}",
            data={"client_secret": CANARY},
            headers={
                "Authorization": f"Bearer {CANARY}",
                "Cookie": f"session={CANARY}",
                "Referer": f"https://localhost/?code={CANARY}",
                "User-Agent": CANARY,
                "DPoP": CANARY,
            },
        )
    assert edge.nginx.log_entry(response.headers["x-request-id"])["path"] == path
    log = edge.nginx.access_log_text()
    assert CANARY not in log
    assert PROXY_SECRET not in log
    assert "BEGIN" not in log
    assert "CERTIFICATE" not in log


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b'/quote"and\\slash', '/quote"and\\slash'),
        (b"/%22%0a?secret=1", "/%22%0a"),
        (b"/high\xff\xfebytes", "/high"),
        (b"/\xc3\xa4", "/"),
        (b"http://elsewhere/absolute?x", "/absolute"),
    ],
)
def test_every_line_is_valid_json_whatever_was_asked(edge: Edge, target: bytes, path: str) -> None:
    request = b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = edge.nginx.raw(edge.nginx.site.http_port, request).decode("latin-1")
    found = re.search(r"^X-Request-Id: (\w+)\r$", answer, re.MULTILINE)
    assert found, answer
    assert edge.nginx.log_entry(found[1])["path"] == path


def test_garbage_is_logged_as_json_too(edge: Edge) -> None:
    before = len(edge.nginx.access_log_text().splitlines())
    edge.nginx.raw(edge.nginx.site.http_port, b"\x16\x03\x01\xff\x00 garbage \xfe\r\n\r\n")
    for _ in polling():
        lines = edge.nginx.access_log_text().splitlines()
        if len(lines) > before:
            break
    assert json.loads(lines[-1])["status"] == "400"
    assert json.loads(lines[-1])["path"] == ""


def test_times_are_written_with_their_zone(edge: Edge) -> None:
    with edge.nginx.client() as client:
        response = client.get(edge.nginx.https)
    entry = edge.nginx.log_entry(response.headers["x-request-id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", entry["time"])
