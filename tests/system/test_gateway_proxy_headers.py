"""HAProxy, Apache, Caddy and Envoy in front of a gateway pass no header that a client forged.

Attacks A2, A4, A20: certificate, chain, verdict and secret, in every spelling, by HTTP/1.1 and
HTTP/2, with a certificate of the client's own and without one.
"""

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificates

from gateway.domain.certificates import ProxyVerdict
from gateway.http.certificate_lookup import LOOKUPS, LookupOptions
from tests.support.edge_certificates import OVERSIZED, EdgeCertificates
from tests.support.gateway_proxies import (
    LISTENERS,
    SETTINGS,
    GatewayProxy,
    start_gateway_proxy,
)
from tests.support.nginx import PROXY_SECRET
from tests.support.ports import ADDRESS
from tests.support.proxy_process import OTHER_PROXIES
from tests.support.recording_upstream import ERROR_OF_ITS_OWN, RecordingUpstream, recording_upstream
from tests.support.spellings import spellings

FORGED = "forged-by-the-client"
NAMES = (
    *("ssl-client-cert", "ssl-client-verify", "ssl-cert-chain", "Client-Cert", "Client-Cert-Chain"),
    *("ssl-client-cert-chain-0", "ssl-client-cert-chain-1", "X-Forwarded-Client-Cert"),
    *("X-Forwarded-Tls-Client-Cert", "X-SSL-Client-Cert", "X-Realmgate-Proxy-Secret"),
    *("X-Request-Id", "Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"),
    *("X-Forwarded-Port", "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Prefix"),
    *("X-Forwarded-Scheme", "X-Forwarded-Server", "X-Forwarded-Ssl", "X-Forwarded-User"),
    *("X-Forwarded-Tls-Client-Cert-Info", "X-Original-URI", "X-Original-URL", "X-Original-Method"),
    *("X-Original-Request", "X-Rewrite-URL", "X-Real-IP", "X-Client-IP", "X-Client-Cert"),
    *("X-SSL-Client-Verify", "X-Realmgate-Server"),
)
MISSPELLED = sorted({each for name in NAMES for each in spellings(name) if "_" in each})
REFUSALS = {400, 403, 431}
VERDICTS = {
    "haproxy": {"self-signed": "18", "unknown CA": "20", "expired": "10", "revoked": "23"},
    "apache": {"self-signed": "GENEROUS", "unknown CA": "FAILED:"},
    "caddy": dict.fromkeys(("device-1", "self-signed", "expired", "revoked"), "FAILED:"),
    "envoy": dict.fromkeys(("self-signed", "unknown CA", "expired", "revoked"), "FAILED:"),
}
"""How the verdict about a certificate begins where one of any authority may pass."""
LEAVES = {"caddy": "Client-Cert", "envoy": "X-Forwarded-Client-Cert"}
"""The header of the certificate, where it is not `ssl-client-cert`."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A proxy, and what it passes on."""

    proxy: GatewayProxy
    upstream: RecordingUpstream

    def forged(
        self, listener: str, certificate: str | None, *, http2: bool, attempts: list[list[str]]
    ) -> list[str]:
        """Send the names of each attempt with a forged value; return those that came through."""
        self.upstream.forget()
        passed = 0
        with self.proxy.client(certificate, http2=http2) as client:
            for names in attempts:
                headers = [(name, FORGED) for name in names]
                answer = client.get(f"{self.proxy.url(listener)}/x", headers=headers)
                assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
                assert answer.status_code in {200, *REFUSALS}, names
                passed += answer.status_code not in REFUSALS
        assert len(self.upstream.received) == passed
        found = [header for each in self.upstream.received for header in each.headers]
        return [name for name, value in found if FORGED in value]


@pytest.fixture(scope="module", params=OTHER_PROXIES)
def running(
    request: pytest.FixtureRequest, edge_certificates: EdgeCertificates
) -> Iterator[Watched]:
    """Run each proxy in front of a server that records requests."""
    with tempfile.TemporaryDirectory(prefix="realmgate-upstream-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        socket = folder / "gateway.sock"
        with recording_upstream(socket) as upstream:
            socket.chmod(0o777)
            with start_gateway_proxy(request.param, socket, edge_certificates) as proxy:
                yield Watched(proxy, upstream)


@pytest.fixture
def watched(running: Watched) -> Watched:
    """Return the proxy, the memory of its server cleared."""
    running.upstream.forget()
    return running


def test_no_listener_passes_a_forged_header(watched: Watched) -> None:
    attempts = [[*NAMES], [name.upper() for name in NAMES], [*NAMES, *NAMES]]
    for listener in LISTENERS:
        for certificate in ("device-1",) if listener == "required" else (None, "device-1"):
            for http2 in (False, True):
                lower = [[name.lower() for name in names] for names in attempts]
                sent = lower if http2 else attempts
                found = watched.forged(listener, certificate, http2=http2, attempts=sent)
                assert found == [], (listener, certificate, http2)
                assert len(watched.upstream.received) == len(sent)


def test_no_other_spelling_of_a_header_passes(watched: Watched) -> None:
    """Apache refuses the request, the others remove the header."""
    for http2 in (False, True):
        names = sorted({name.lower() for name in MISSPELLED}) if http2 else MISSPELLED
        for certificate in (None, "device-1"):
            attempts = [[name] for name in names]
            if certificate is not None:  # as many as each proxy takes in one request
                attempts = [names[start::8] for start in range(8)]
            found = watched.forged("optional", certificate, http2=http2, attempts=attempts)
            assert found == [], http2


def test_the_gateway_gets_the_proxys_values_and_nothing_twice(watched: Watched) -> None:
    """A client names headers in `Connection` that it wants to be lost: RFC 9110 §7.6.1."""
    named = "ssl-client-cert, Client-Cert, ssl-client-verify, X-Realmgate-Proxy-Secret, Upgrade"
    leaf = LEAVES.get(watched.proxy.name, "ssl-client-cert")
    verdict = "0" if watched.proxy.name == "haproxy" else "SUCCESS"
    port = str(watched.proxy.ports["optional"])
    for certificate, end in itertools.product((None, "device-1"), ("", ", close")):
        with watched.proxy.client(certificate) as client:
            url = watched.proxy.url("optional")
            sent = {"Connection": named + end, "Upgrade": "h2c"}
            answer = client.get(f"{url}/a%2Fb?c=d", headers=sent)
        assert answer.status_code == 200
        assert (answer.headers.get("Connection", "").lower() == "close") is bool(end)
        received = watched.upstream.last
        assert received.target == "/a%2Fb?c=d"
        assert received.all("Upgrade") == []
        assert {each.lower() for each in received.all("Connection")} <= {"close", "keep-alive"}
        assert received.all("X-Forwarded-For") == [ADDRESS]
        assert received.all("X-Forwarded-Proto") == ["https"]
        assert received.all("X-Forwarded-Host") == received.all("Host") == [f"localhost:{port}"]
        assert received.all("X-Forwarded-Port") == [port]
        assert received.all("X-Realmgate-Proxy-Secret") == [PROXY_SECRET]
        ids = received.all("X-Request-Id")  # where Apache sends none, the gateway makes one
        assert len(ids) == (0 if watched.proxy.name == "apache" else 1)
        if certificate is None:
            assert received.all(leaf) in ([], ["(null)"])
            assert received.all("ssl-client-verify") in ([], ["NONE"])
        else:
            assert len(received.all(leaf)) == 1
            assert received.all("ssl-client-verify") == [verdict]


def test_the_gateway_reads_the_leaf_and_the_sent_chain(watched: Watched) -> None:
    settings = SETTINGS[watched.proxy.name]
    options = LookupOptions(
        chain_header=settings.get("certificate_chain_header"),
        chain_prefix=settings.get("certificate_chain_prefix"),
        chain_length=int(settings.get("certificate_chain_length", 1)),
        verdict_header=settings.get("certificate_verdict_header"),
    )
    folder = watched.proxy.certificates.folder
    (leaf,) = _encoded(folder / "device-1.crt")
    # The client sends the authorities that it trusts with its certificate.
    chain = [] if watched.proxy.name == "caddy" else _encoded(folder / "ca.crt")
    for listener in LISTENERS:
        with watched.proxy.client("device-1") as client:
            client.get(f"{watched.proxy.url(listener)}/x")
        headers = {
            name.lower().encode(): value.encode() for name, value in watched.upstream.last.headers
        }
        found = LOOKUPS[settings["certificate_lookup"]](options).find_certificate(headers)
        assert found is not None
        assert (found.leaf, {*found.chain}) == (leaf, {*chain})
        verified = watched.proxy.name != "caddy" or listener != "any"
        assert found.verdict is (ProxyVerdict.VERIFIED if verified else ProxyVerdict.FAILED)


def _encoded(file: Path) -> list[bytes]:
    certificates = load_pem_x509_certificates(file.read_bytes())
    return [each.public_bytes(Encoding.DER) for each in certificates]


def test_the_verdict_about_a_certificate_is_its_first_error(
    watched: Watched,
) -> None:
    """Attacks A6, A7: OpenSSL reports the last error alone, a missing revocation list say."""
    for certificate, verdict in VERDICTS[watched.proxy.name].items():
        with watched.proxy.client(certificate) as client:
            assert client.get(f"{watched.proxy.url('any')}/x").status_code == 200
        (found,) = watched.upstream.last.all("ssl-client-verify")
        assert found.startswith(verdict), certificate
        assert found.isdecimal() is verdict.isdecimal()


def test_no_header_of_a_client_steers_envoy(watched: Watched) -> None:
    """Envoy obeys `X-Envoy-*` of clients that it takes for internal ones. Attacks A20."""
    orders = {"X-Envoy-Retry-On": "5xx", "X-Envoy-Max-Retries": "2", "X-Envoy-Original-Path": "/y"}
    for http2 in (False, True):
        watched.upstream.forget()
        with watched.proxy.client(http2=http2) as client:
            url = f"{watched.proxy.url('optional')}{ERROR_OF_ITS_OWN}"
            assert client.get(url, headers=orders).status_code == 503
        assert [each.target for each in watched.upstream.received] == [ERROR_OF_ITS_OWN]
        if watched.proxy.name == "envoy":
            assert not [name for name, _ in watched.upstream.last.headers if "envoy" in name]


def test_no_request_for_another_host_is_passed_on(watched: Watched) -> None:
    """Attacks A21."""
    for listener in LISTENERS:
        with watched.proxy.client("device-1") as client:
            for host in ("evil.example.test", "localhost.evil.test", "evil.test:443"):
                client.get(f"{watched.proxy.url(listener)}/x", headers={"Host": host})
    assert watched.upstream.received == []


def test_a_long_chain_is_no_error_of_the_server(watched: Watched, tmp_path: Path) -> None:
    """Attacks A17: a chain of 42 pairs, without the leaf, almost fills HAProxy's buffer."""
    folder = watched.proxy.certificates.folder
    shutil.copy(folder / "device-1.key", tmp_path / "long.key")
    for pairs in (10, 41, 42, 43, 80):
        chain = (folder / "ca.crt").read_text() * pairs
        (tmp_path / "long.crt").write_text((folder / "device-1.crt").read_text() + chain)
        client = watched.proxy.client(str(tmp_path / "long"))
        with client, suppress(httpx2.TransportError):  # Caddy takes no handshake of this size
            answer = client.get(f"{watched.proxy.url('optional')}/x")
            assert answer.status_code in {200, 400}, pairs


def test_a_huge_certificate_never_looks_like_none(watched: Watched) -> None:
    """Attacks A17: HAProxy has a buffer for it; 400 comes from the proxy or from the gateway."""
    name = LEAVES.get(watched.proxy.name, "ssl-client-cert")
    for certificate in OVERSIZED:
        watched.upstream.forget()
        with watched.proxy.client(certificate) as client, suppress(httpx2.TransportError):
            answer = client.get(f"{watched.proxy.url('optional')}/x")
            assert answer.status_code in {200, 400}
        for received in watched.upstream.received:
            (value,) = received.all(name)
            assert len(value) > 13_000
