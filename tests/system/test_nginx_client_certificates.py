"""Which client certificates come through which listener, and what the gateway learns of them.

Attacks A6 to A9, A13, A17: bad certificates end at nginx, a revoked one is not revived by a
resumed session, and certificates of any size are answered cleanly.
"""

import socket
import ssl
import subprocess
import warnings
from pathlib import Path
from urllib.parse import unquote

import httpx2
import pytest

from tests.support.edge_certificates import (
    GOOD,
    OVERSIZED,
    REFUSED,
    REVOKED,
    STRANGERS,
    EdgeCertificates,
    stale_revocation_lists,
)
from tests.support.nginx import Edge, start_nginx
from tests.support.ports import ADDRESS


class Caller:
    """Asks with any certificate."""

    def __init__(self, edge: Edge, certificates: EdgeCertificates) -> None:
        self.edge, self.certificates = edge, certificates

    def get(self, url: str, certificate: str | None, **headers: str) -> httpx2.Response:
        """Ask once."""
        pair = None if certificate is None else self.certificates.pair(certificate)
        with self.edge.nginx.client(pair) as client:
            return client.get(url, headers=headers)


@pytest.fixture
def caller(edge: Edge, edge_certificates: EdgeCertificates) -> Caller:
    """Return a caller of the shared nginx."""
    return Caller(edge, edge_certificates)


@pytest.mark.parametrize("listener", range(3))
@pytest.mark.parametrize("certificate", GOOD)
@pytest.mark.parametrize("protocol", ["HTTP/1.1", "HTTP/2"])
def test_a_good_certificate_arrives_whole_on_every_listener(
    edge: Edge, edge_certificates: EdgeCertificates, listener: int, certificate: str, protocol: str
) -> None:
    with edge.nginx.client(certificate, http2=protocol == "HTTP/2") as client:
        assert client.get(edge.nginx.listeners[listener]).http_version == protocol
    (escaped,) = edge.upstream.last.all("ssl-client-cert")
    sent = (edge_certificates.folder / f"{certificate}.crt").read_text()
    assert unquote(escaped).strip() == sent.strip()
    assert "\n" not in escaped
    assert edge.upstream.last.all("ssl-client-verify") == ["SUCCESS"]


def test_eight_kilobytes_of_escaped_certificate_were_among_them(edge: Edge, caller: Caller) -> None:
    caller.get(edge.nginx.mtls, "large")
    (escaped,) = edge.upstream.last.all("ssl-client-cert")
    assert len(escaped) > 8192


@pytest.mark.parametrize("listener", [0, 2])
def test_without_a_certificate_the_gateway_is_told_none(
    edge: Edge, caller: Caller, listener: int
) -> None:
    assert caller.get(edge.nginx.listeners[listener], None).status_code == 200
    assert edge.upstream.last.all("ssl-client-verify") == ["NONE"]
    assert edge.upstream.last.all("ssl-client-cert") == []


@pytest.mark.parametrize("listener", [0, 1])
@pytest.mark.parametrize("certificate", [*REFUSED, REVOKED, *STRANGERS])
def test_a_bad_certificate_is_refused_before_the_gateway(
    edge: Edge, caller: Caller, listener: int, certificate: str
) -> None:
    response = caller.get(edge.nginx.listeners[listener], certificate, Accept="text/html")
    assert response.status_code == 400
    assert "Your client certificate was refused" in response.text
    assert not edge.upstream.received


@pytest.mark.parametrize(
    ("certificate", "verdict"),
    [
        ("expired", "certificate has expired"),
        ("not yet valid", "certificate is not yet valid"),
        ("revoked", "certificate revoked"),
        ("wrong EKU", "unsuitable certificate purpose"),
        ("unknown CA", "the authority that issued it is not known here"),
        ("self-signed", "the authority that issued it is not known here"),
    ],
)
def test_the_refusal_says_what_is_wrong(
    edge: Edge, caller: Caller, certificate: str, verdict: str
) -> None:
    response = caller.get(edge.nginx.mtls, certificate, Accept="text/html")
    assert f"The check ended with: {verdict}" in response.text
    entry = edge.nginx.log_entry(response.headers["x-request-id"])
    assert entry["client_certificate_verify"].startswith("FAILED:")


def test_an_expired_list_refuses_connections_and_says_so(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    """attacks: A10."""
    certificates = stale_revocation_lists(edge_certificates, tmp_path / "certs")
    with (
        start_nginx(tmp_path, certificates, ["127.0.0.1:9"]) as nginx,
        nginx.client("device-1") as client,
    ):
        response = client.get(nginx.mtls, headers={"Accept": "application/json"})
    assert response.status_code == 400
    assert "the revocation list of this server is out of date" in response.text
    entry = nginx.log_entry(response.headers["x-request-id"])
    assert entry["client_certificate_verify"] == "FAILED:CRL has expired"


@pytest.mark.parametrize("certificate", STRANGERS)
def test_the_self_signed_listener_passes_strangers_as_failed(
    edge: Edge, caller: Caller, certificate: str
) -> None:
    assert caller.get(edge.nginx.self_signed, certificate).status_code == 200
    (verdict,) = edge.upstream.last.all("ssl-client-verify")
    assert verdict.startswith("FAILED:")
    assert len(edge.upstream.last.all("ssl-client-cert")) == 1


@pytest.mark.parametrize("certificate", REFUSED)
def test_certificates_naming_our_authority_must_be_good_there(
    edge: Edge, caller: Caller, certificate: str
) -> None:
    assert caller.get(edge.nginx.self_signed, certificate).status_code == 400
    assert not edge.upstream.received


def test_the_listener_for_devices_asks_for_a_certificate(edge: Edge, caller: Caller) -> None:
    response = caller.get(edge.nginx.mtls, None, Accept="text/html")
    assert response.status_code == 400
    assert "A client certificate is needed" in response.text
    assert not edge.upstream.received


@pytest.mark.parametrize("listener", range(3))
@pytest.mark.parametrize("certificate", OVERSIZED)
def test_a_certificate_too_large_to_parse_is_refused_cleanly(
    edge: Edge, caller: Caller, listener: int, certificate: str
) -> None:
    url = edge.nginx.listeners[listener]
    response = caller.get(url, certificate, Accept="application/json")
    assert response.status_code == 400
    assert "too large" in response.json()["error_description"]
    assert not edge.upstream.received


def test_on_that_listener_the_gateway_refuses_revoked_ones(edge: Edge, caller: Caller) -> None:
    """Documented in nginx/README.md: with a list nginx would refuse every self-signed one."""
    assert caller.get(edge.nginx.self_signed, REVOKED).status_code == 200
    assert len(edge.upstream.last.all("ssl-client-cert")) == 1


@pytest.mark.parametrize("listener", range(3))
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_no_session_is_resumed(edge: Edge, listener: int, version: ssl.TLSVersion) -> None:
    """Nor under another name, where it would skip the certificate. attacks: A9, A13."""
    context = ssl.create_default_context(cafile=edge.nginx.site.certificates / "ca.crt")
    device = edge.nginx.site.certificates / "device-1"
    context.load_cert_chain(f"{device}.crt", f"{device}.key")
    context.minimum_version = context.maximum_version = version
    port = httpx2.URL(edge.nginx.listeners[listener]).port
    assert port
    context.check_hostname = False
    session = None
    for name in ("localhost", "localhost", "other.test"):
        with (
            socket.create_connection((ADDRESS, port)) as plain,
            context.wrap_socket(plain, server_hostname=name, session=session) as secure,
        ):
            secure.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert secure.recv(65536).startswith(b"HTTP/1.1 200")
            assert secure.version() == version.name.replace("_", ".")
            assert not secure.session_reused
            session = secure.session


@pytest.mark.parametrize("listener", range(3))
@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1"])
def test_old_tls_is_refused(edge: Edge, listener: int, version: str) -> None:
    context = ssl.create_default_context(cafile=edge.nginx.site.certificates / "ca.crt")
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    port = httpx2.URL(edge.nginx.listeners[listener]).port
    assert port
    with (
        socket.create_connection((ADDRESS, port)) as plain,
        pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"),
    ):
        context.wrap_socket(plain, server_hostname="localhost")


def test_authorities_are_named_only_where_theirs_are_expected(edge: Edge) -> None:
    """Browsers and Java offer no certificate of an authority that the server does not name."""

    def named(port: int) -> bool:
        command = ["openssl", "s_client", "-connect", f"{ADDRESS}:{port}", "-tls1_2"]
        shown = subprocess.run(command, input=b"", capture_output=True, check=False).stdout
        assert b"Client Certificate Types" in shown
        return b"Acceptable client certificate CA names" in shown

    site = edge.nginx.site
    assert named(site.https_port)
    assert named(site.mtls_port)
    assert not named(site.self_signed_port)
