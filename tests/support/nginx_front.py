"""The shipped nginx before each gateway that a test asks as the proxy: `--through-nginx`.

Without the option the client of a test writes the headers of the proxy itself, and sends them to
the unix socket of the gateway. With it a transport takes these headers from each request, and makes
their content true: TLS or plain HTTP, an address of the loopback network for each address of a
caller, a client certificate with its key, a server of nginx for each protected site. nginx then
writes the headers.
"""

import os
import signal
import ssl
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from pathlib import Path
from threading import RLock
from typing import Final
from urllib.parse import unquote, urlsplit

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from gateway.cli.nginx import PlainHttp
from gateway.crypto.x509.development_pki import create_pki
from tests.support.chains import find_issued
from tests.support.nginx import RunningNginx, changed_source, polling, start_nginx

_OPTION: Final = "--through-nginx"
_DECISION: Final = "/.realmgate/guard/nginx"
_OF_PROXY: Final = (
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-request-id",
    "x-realmgate-server",
    "x-original-request",
    "ssl-client-cert",
    "ssl-client-verify",
)
_FALLBACK_URL: Final = "https://localhost:8443"
"""Where a gateway is without a public URL."""
_folders: list[Path] = []
"""Where tests keep certificates and their keys; empty without the option."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption(_OPTION, action="store_true", help="run nginx before the gateways of tests")


@pytest.fixture(scope="session", autouse=True)
def _through_nginx(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if request.config.getoption(_OPTION):
        _folders.append(tmp_path_factory.getbasetemp())


@dataclass(frozen=True, slots=True)
class _Caller:
    """What a connection to nginx is opened with."""

    scheme: str
    address: str
    certificate: Path | None


@dataclass
class NginxFront:
    """An nginx before one gateway; it starts with the first client."""

    gateway_socket: Path
    settings: Mapping[str, object]
    folder: Path
    generation: int = 0
    """Grows when nginx has read its configuration again."""
    _running: ExitStack = field(default_factory=ExitStack)
    _nginx: RunningNginx | None = None
    _sites: set[str] = field(default_factory=set)
    _lock: RLock = field(default_factory=RLock)
    _addresses: dict[str, str] = field(default_factory=dict)
    """By the network that a test names."""

    @property
    def nginx(self) -> RunningNginx:
        """The running nginx."""
        with self._lock:
            if self._nginx is None:
                self._nginx = self._start()
            return self._nginx

    @property
    def public_host(self) -> str:
        """The name and port of the gateway's public URL."""
        return urlsplit(self._public_urls[0]).netloc

    @property
    def _public_urls(self) -> tuple[str, ...]:
        named = [self.settings.get(name) for name in ("public_url", "mtls_public_url")]
        return tuple(str(url) for url in named if url) or (_FALLBACK_URL,)

    def close(self) -> None:
        """Stop nginx."""
        self._running.close()

    def _start(self) -> RunningNginx:
        authority = self.settings.get("client_ca_file")
        certificates = Path(str(authority)).parent if authority else self.folder / "certs"
        if not authority:
            create_pki(certificates, now=datetime.now(UTC))
        service = self.folder / "service.sock"
        answering = f"""
    server {{
        listen unix:{service};
        location / {{
            return 200 "the service\\n";
        }}
    }}
"""
        # Services are behind the same nginx, in the place of the servers of an operator.
        source = changed_source(
            self.folder,
            {
                "realmgate.conf": (
                    "    include servers/*.conf;",
                    f"{answering}    include servers/*.conf;",
                )
            },
        )
        return self._running.enter_context(
            start_nginx(
                self.folder,
                certificates,
                [f"unix:{self.gateway_socket}"],
                source=source,
                public_urls=self._public_urls,
                plain_http=PlainHttp.FORWARD,
                proxy_secret=str(self.settings.get("proxy_secret", "")),
            )
        )

    def is_own(self, host: str) -> bool:
        """Tell whether the gateway itself has the host."""
        return host in {urlsplit(url).netloc for url in self._public_urls} | {"localhost"}

    def protect(self, host: str) -> None:
        """Add a server of nginx that protects the host, unless there is one."""
        with self._lock:
            if host in self._sites:
                return
            nginx = self.nginx
            folder = nginx.configuration.parent / "servers"
            folder.mkdir(exist_ok=True)
            (folder / f"{len(self._sites)}.conf").write_text(_server_text(host, self.folder))
            self._sites.add(host)
            before = _workers(nginx)
            os.kill(nginx.pid, signal.SIGHUP)
            for _ in polling():
                now = _workers(nginx)
                if now and not now & before:
                    self.generation += 1
                    return
            raise AssertionError(f"nginx does not read its configuration again for {host}")

    def find_certificate(self, header: str) -> Path | None:
        """Return the file of the certificate in `ssl-client-cert`, with `.key` beside it.

        The key is among the files of the tests, or in the memory of this process.
        """
        if not header:
            return None
        certificate = x509.load_pem_x509_certificate(unquote(header).encode())
        file = self.folder / f"{certificate.fingerprint(SHA256()).hex()}.crt"
        with self._lock:
            if file.exists():
                return file
            node = find_issued(certificate.public_bytes(Encoding.DER))
            if node is None:
                key = _find_key(certificate.public_key())
            else:
                key = node.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            file.with_suffix(".key").write_bytes(key)
            file.write_bytes(certificate.public_bytes(Encoding.PEM))
        return file

    def is_trusted(self, file: Path, said: str) -> bool:
        """Tell whether a certificate is one for the listener that knows its authority.

        The other listener takes certificates of authorities that a realm alone knows.
        """
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
        authorities = x509.load_pem_x509_certificates(
            (self.nginx.site.certificates / "ca.crt").read_bytes()
        )
        is_known = certificate.issuer in {each.subject for each in authorities}
        return is_known and said == "SUCCESS"

    def address_of(self, forwarded: str) -> str:
        """Return an address of the loopback network in place of a caller's address.

        The addresses of an IPv6 network, which limits count together, become one.
        """
        address = ip_address(forwarded)
        if address.is_loopback:
            return "127.0.0.1"
        network = ip_network(f"{address}/{64 if address.version == 6 else 32}", strict=False)
        with self._lock:
            number = len(self._addresses) + 1
            own = f"127.1.{number // 250}.{1 + number % 250}"
            return self._addresses.setdefault(str(network), own)


def find_front(state_dir: Path, settings: Mapping[str, object]) -> NginxFront | None:
    """Return the nginx of a gateway with these settings, None without the option."""
    if not _folders:
        return None
    folder = state_dir / "front"
    folder.mkdir(parents=True, exist_ok=True)
    return NginxFront(state_dir / "run" / "gateway.sock", settings, folder)


def _workers(nginx: RunningNginx) -> set[str]:
    return set(Path(f"/proc/{nginx.pid}/task/{nginx.pid}/children").read_text().split())


def _server_text(host: str, folder: Path) -> str:
    """Return servers for a site, one at each listener, as README.md of nginx describes them."""
    return "".join(
        f"""
server {{
    include realmgate/site/listen-{listener}.conf;
    server_name {host};
    include realmgate/tls.conf;
    include realmgate/client-certificate-{verification}.conf;
    include realmgate/guard-server.conf;
    location / {{
        include realmgate/guard.conf;
        proxy_pass http://unix:{folder}/service.sock;
    }}
}}
"""
        for listener, verification in (
            ("https", "optional"),
            ("mtls", "required"),
            ("self-signed", "optional-no-ca"),
        )
    )


def _find_key(public: CertificatePublicKeyTypes) -> bytes:
    """Return the private key in PEM that belongs to the public one, from the files of the tests."""
    for folder in _folders:
        for file in folder.rglob("*.key"):
            text = file.read_bytes()
            if b"PRIVATE KEY" in text and load_pem_private_key(text, None).public_key() == public:
                return text
    raise AssertionError("no file of the tests has the key of the certificate")


class NginxTransport(httpx2.BaseTransport):
    """Sends requests through nginx, which are written as the proxy writes them."""

    def __init__(self, front: NginxFront) -> None:
        self._front = front
        self._generation = front.generation
        self._transports: dict[_Caller, httpx2.HTTPTransport] = {}
        self._lock = RLock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = request.headers.copy()
        said = {name: headers.pop(name, "") for name in _OF_PROXY}
        front, nginx = self._front, self._front.nginx
        host = said["x-forwarded-host"] or headers["host"]
        if host == "gateway":
            host = front.public_host
        method, target = request.method, request.url.raw_path
        if request.url.path == _DECISION:
            method, path, _ = said["x-original-request"].split(" ")
            target = path.encode()
        if not front.is_own(host):
            front.protect(host)
        headers["Host"] = host
        certificate = front.find_certificate(said["ssl-client-cert"])
        scheme = said["x-forwarded-proto"] or "https"
        if scheme == "http":
            port = nginx.site.http_port
        elif certificate is None or front.is_trusted(certificate, said["ssl-client-verify"]):
            port = nginx.site.https_port
        else:
            port = nginx.site.self_signed_port
        address = said["x-forwarded-for"].rpartition(",")[2].strip() or "127.0.0.1"
        caller = _Caller(scheme, front.address_of(address), certificate)
        sent = httpx2.Request(
            method,
            httpx2.URL(f"{scheme}://localhost:{port}").copy_with(raw_path=target),
            headers=headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        response = self._transport(caller).handle_request(sent)
        assert response.headers["server"].startswith("nginx")
        return response

    def _transport(self, caller: _Caller) -> httpx2.HTTPTransport:
        with self._lock:
            if self._generation != self._front.generation:
                self.close()
                self._generation = self._front.generation
            if caller not in self._transports:
                self._transports[caller] = self._open(caller)
            return self._transports[caller]

    def _open(self, caller: _Caller) -> httpx2.HTTPTransport:
        context = ssl.create_default_context(cafile=self._front.nginx.site.certificates / "ca.crt")
        # nginx judges what the client shows.
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        if caller.certificate is not None:
            context.load_cert_chain(caller.certificate, caller.certificate.with_suffix(".key"))
        return httpx2.HTTPTransport(verify=context, local_address=caller.address)

    def close(self) -> None:
        with self._lock:
            transports = list(self._transports.values())
            self._transports.clear()
        for transport in transports:
            transport.close()
