"""nginx answers for its own names alone, and sends nobody to a name that a caller chose."""

import re
import ssl
from collections.abc import Iterator

import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import Edge, start_edge

PUBLIC = "id.realmgate.test"
DEVICES = "devices.realmgate.test"
OWN = (PUBLIC, PUBLIC.upper(), f"{PUBLIC}:8443", f"{PUBLIC}.", DEVICES)
LOCAL = ("localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8443", "[::1]", "[::1]:8443")
FOREIGN = ("evil.example", f"{PUBLIC}.evil.example", f"evil-{PUBLIC}", "localhost.evil", "10.0.0.1")


@pytest.fixture(scope="module")
def named(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Edge]:
    """Run an nginx with public names of its own."""
    urls = (f"https://{PUBLIC}:9443/auth", f"https://{DEVICES}")
    prefix = tmp_path_factory.mktemp("named")
    with start_edge(prefix, edge_certificates.folder, public_urls=urls) as edge:
        yield edge


@pytest.mark.parametrize("host", [*OWN, *LOCAL])
def test_its_own_names_are_served(named: Edge, host: str) -> None:
    with named.nginx.client("device-1") as client:
        for listener in named.nginx.listeners:
            named.upstream.forget()
            response = client.get(listener, headers={"Host": host})
            assert response.status_code == 200
            assert named.upstream.last.all("host") == [host]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_name_is_misdirected(named: Edge, host: str) -> None:
    """Specification: RFC 9110 §15.5.20."""
    named.upstream.forget()
    with named.nginx.client("device-1") as client:
        for listener in (*named.nginx.listeners, named.nginx.http):
            headers = {"Host": host, "Accept": "application/json"}
            response = client.get(f"{listener}/realms/demo", headers=headers)
            assert response.status_code == 421
            assert response.json()["error"] == "invalid_request"
            assert "location" not in response.headers
    assert not named.upstream.received


def test_a_foreign_name_is_misdirected_over_http2(named: Edge) -> None:
    with named.nginx.client(http2=True) as client:
        response = client.get(named.nginx.https, headers={"Host": "evil.example"})
    assert (response.http_version, response.status_code) == ("HTTP/2", 421)


@pytest.mark.parametrize("host", [PUBLIC, "localhost", "127.0.0.1:1"])
def test_plain_http_sends_everybody_to_the_public_address(named: Edge, host: str) -> None:
    with named.nginx.client() as client:
        response = client.get(f"{named.nginx.http}/realms/demo?a=b", headers={"Host": host})
    assert response.status_code == 308
    assert response.headers["location"] == f"https://{PUBLIC}:9443/realms/demo?a=b"


@pytest.mark.parametrize(
    ("line", "headers", "host"),
    [
        # RFC 9112 §3.2.2: the target's host counts, not the header's.
        ("GET https://localhost/ HTTP/1.1", "Host: evil.example\r\n", "localhost"),
        ("GET https://evil.example/ HTTP/1.1", "Host: localhost\r\n", None),
        ("GET / HTTP/1.0", "", PUBLIC),
    ],
)
def test_the_gateway_is_told_the_name_that_was_judged(
    named: Edge, line: str, headers: str, host: str | None
) -> None:
    named.upstream.forget()
    context = ssl.create_default_context(cafile=named.nginx.site.certificates / "ca.crt")
    request = f"{line}\r\nConnection: close\r\n{headers}\r\n".encode()
    answer = named.nginx.raw(named.nginx.site.https_port, request, context)
    assert re.match(rb"HTTP/1.1 (200|421) ", answer)
    assert [received.all("host") for received in named.upstream.received] == [[host]][
        : host is not None
    ]
