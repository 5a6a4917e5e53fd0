"""HAProxy, Apache, Caddy and Envoy in front of a protected service, with proxies/ as it is.

HAProxy and Apache need the package lua-socket too.
"""

import socket
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Final

import httpx2
import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.ports import ADDRESS, free_ports
from tests.support.protected_sites import Protected, start_protected
from tests.support.proxy_process import (
    PROXIES,
    open_to_other_users,
    socket_address,
    start_proxy_process,
)

_FILES: Final[Mapping[str, str]] = {
    "haproxy": "haproxy/haproxy.cfg",
    "caddy": "caddy/Caddyfile",
    "apache": "apache/realmgate.conf",
    "envoy": "envoy/envoy.yaml",
}
_SERVICES: Final[Mapping[str, str]] = {
    "apache": "unix:{}|http://service/",
    "envoy": "{{ pipe: {{ path: {} }} }}",
}
"""How a proxy writes the service, where it is not as it writes the gateway."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that was read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class GuardingProxy:
    """A running proxy in front of the site `host`."""

    name: str
    port: int
    host: str
    protected: Protected

    def client(self) -> httpx2.Client:
        """Return a client that uses HTTP/2 where the proxy does."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        url = f"https://{ADDRESS}:{self.port}"
        return httpx2.Client(verify=tls, http2=True, trust_env=False, timeout=10, base_url=url)

    def send(self, request: str, certificate: str | None = None) -> Answer:
        """Send a request as it is, which has to end its connection."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the default one reads all authorities
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        if certificate is not None:
            pair = self.protected.certificates.pair(certificate)
            tls.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        with (
            socket.create_connection((ADDRESS, self.port), timeout=10) as plain,
            tls.wrap_socket(plain, server_hostname=self.host) as connection,
        ):
            # Or the request waits for 40 ms, until the end of the handshake is acknowledged.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(request.encode("latin-1"))
            response = HTTPResponse(connection)
            response.begin()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, headers, response.read())

    def ask(
        self,
        path: str,
        *headers: str,
        token: str | None = None,
        certificate: str | None = None,
        method: str = "GET",
    ) -> Answer:
        """Send a request without a body; `headers` are whole lines."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", "Connection: close", *headers]
        if token is not None:
            lines.append(f"Authorization: Bearer {token}")
        return self.send("\r\n".join([*lines, "", ""]), certificate)


@contextmanager
def start_open_site(certificates: EdgeCertificates) -> Iterator[Protected]:
    """Run gateway and service where a proxy of another user reaches them."""
    with tempfile.TemporaryDirectory(prefix="realmgate-proxies-") as made:
        folder = Path(made)
        with start_protected(folder, certificates) as protected:
            for path in (protected.gateway.socket, protected.service.path):
                open_to_other_users(path, folder)
            yield protected


@pytest.fixture(scope="session")
def open_site(edge_certificates: EdgeCertificates) -> Iterator[Protected]:
    """Run one such gateway and service for all tests."""
    with start_open_site(edge_certificates) as protected:
        yield protected


@contextmanager
def start_proxy(
    name: str, host: str, protected: Protected, gateway: Path | None = None
) -> Iterator[GuardingProxy]:
    """Run the proxy in front of the gateway and the service of `protected`.

    `gateway` is the socket of another one.
    """
    (port,) = free_ports(1)
    service = socket_address(name, protected.service.path)
    asked = socket_address(name, gateway or protected.gateway.socket)
    environment = {
        "PORT": str(port),
        "LISTEN": f"{ADDRESS}:{port}",
        "SITE": host,
        "SERVICE": _SERVICES.get(name, "{}").format(service),
        "REALMGATE_GATEWAY": asked,
        "REALMGATE_GUARD": str(PROXIES / "haproxy/realmgate_guard.lua"),
        "GUARD": str(PROXIES / "apache"),
    }
    folder = protected.certificates.folder
    with start_proxy_process(name, PROXIES / _FILES[name], folder, [port], environment):
        yield GuardingProxy(name, port, host, protected)
