"""Requests to the running proxy, as an attacker sends them: any header, any spelling, any path.

Client certificates for attacks: those of the operator, and one of an authority made up here.
"""

import http.client
import socket
import ssl
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import serialization

from gateway.crypto.der import CERTIFICATE_LABELS, pem_blocks
from gateway.crypto.public_keys import load_certificate
from gateway.crypto.x509.issuing import (
    CertificatePurpose,
    IssuingAuthority,
    KeyAlgorithm,
    ValidityPeriod,
    generate_key,
    issue_end_entity,
    issue_root,
    name,
)

_LIFETIME = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class CertificateWithKey:
    """A certificate with its key, both as PEM."""

    kind: str
    pem: bytes = field(repr=False)

    def load_into(self, context: ssl.SSLContext) -> None:
        """Present the certificate in handshakes; raises ssl.SSLError without a matching key."""
        # The library reads certificates from files alone.
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(self.pem)
            file.flush()
            context.load_cert_chain(file.name)


def read_certificate(kind: str, path: Path) -> CertificateWithKey:
    """Read certificate and key from one file; raises OSError, ValueError."""
    certificate = CertificateWithKey(kind, path.read_bytes())
    try:
        certificate.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    except ssl.SSLError as failure:
        raise ValueError(f"{path} is not a PEM certificate with its key") from failure
    return certificate


def impostor_of(certificate: CertificateWithKey | None, now: datetime) -> CertificateWithKey:
    """Make a certificate with the names of another one, by an authority with its issuer's name."""
    subject, issuer = name("realmgate-doctor"), name("realmgate-doctor CA")
    if certificate is not None:
        imitated = load_certificate(pem_blocks(certificate.pem, *CERTIFICATE_LABELS)[0])
        subject, issuer = imitated.subject, imitated.issuer
    validity = ValidityPeriod.starting(now, _LIFETIME)
    key = generate_key(KeyAlgorithm.ECDSA)
    authority: IssuingAuthority = issue_root(issuer, generate_key(KeyAlgorithm.ECDSA), validity)
    made = issue_end_entity(
        authority, subject, key.public_key(), validity, purpose=CertificatePurpose.CLIENT
    )
    encoded = made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return CertificateWithKey("of another authority", encoded)


_TIMEOUT: Final = timedelta(seconds=10)
"""For a connection, and for each read."""
_LARGEST_BODY: Final = 256 * 1024
_PORTS: Final = {"http": 80, "https": 443}
SUCCESS: Final = range(200, 300)
Headers = Sequence[tuple[str, str]]
_NAME_ERRORS: Final = (62, 64)
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL."""
_KEPT_OPEN: Final[Headers] = (("Connection", "keep-alive"),)


class Unreachable(Exception):
    """The proxy does not answer, or its own certificate is not trusted; `str()` says which."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; `status` is 0 where TLS ended the connection."""

    status: int
    content: bytes = field(repr=False)
    """Headers and body, at most 256 KiB of it."""
    resumed: bool = False

    @property
    def allowed(self) -> bool:
        """Tell whether the request was answered with success."""
        return self.status in SUCCESS

    def __str__(self) -> str:
        return str(self.status) if self.status else "a TLS alert"


@dataclass(frozen=True, slots=True)
class AttackedEdge:
    """The proxy under a URL."""

    url: str
    authorities: Path | None = None
    """PEM of the authorities of the proxy's own certificate; None for those of the system."""
    address: str | None = None
    """Where to connect to instead of the host of the URL."""

    @property
    def scheme(self) -> str:
        """Return http or https."""
        return urlsplit(self.url).scheme

    @property
    def host(self) -> str:
        """Return the name for TLS, without the port."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or _PORTS[self.scheme]

    @property
    def authority(self) -> str:
        """Return the Host header."""
        default = self.port == _PORTS[self.scheme]
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if default else f"{host}:{self.port}"

    @property
    def path(self) -> str:
        """Return the path of the URL."""
        return urlsplit(self.url).path or "/"

    def ask(
        self,
        path: str | None = None,
        *,
        method: str = "GET",
        headers: Headers = (),
        host: str | None = None,
        certificate: CertificateWithKey | None = None,
    ) -> Answer:
        """Send one request on a new connection; raises Unreachable."""
        with closing(self._connect(certificate, None)) as connection:
            return self._exchange(connection, method, path or self.path, headers, host)

    def ask_twice(self, certificate: CertificateWithKey) -> tuple[Answer, Answer]:
        """Send a request with a certificate, and again in the same TLS session if it is resumed."""
        context = self._context(certificate)
        with closing(self._connect(certificate, None, context)) as connection:
            first = self._exchange(connection, "GET", self.path, _KEPT_OPEN, None)
            # TLS 1.3 sends its tickets after the handshake: they came with the answer.
            session = connection.session if isinstance(connection, ssl.SSLSocket) else None
        with closing(self._connect(certificate, session, context)) as connection:
            return first, self._exchange(connection, "GET", self.path, (), None)

    def _connect(
        self,
        certificate: CertificateWithKey | None,
        session: ssl.SSLSession | None,
        context: ssl.SSLContext | None = None,
    ) -> socket.socket:
        place = (self.address or _loopback(self.host) or self.host, self.port)
        try:
            plain = socket.create_connection(place, timeout=_TIMEOUT.total_seconds())
        except OSError as failure:
            raise Unreachable(f"{place[0]}:{place[1]}: {failure.strerror or failure}") from failure
        if self.scheme == "http":
            return plain
        context = context or self._context(certificate)
        try:
            return context.wrap_socket(plain, server_hostname=self.host, session=session)
        except ssl.SSLCertVerificationError as failure:
            plain.close()
            hint = "" if failure.verify_code in _NAME_ERRORS else " (--ca FILE)"
            raise Unreachable(f"{self.url}: {failure.verify_message}{hint}") from failure
        except OSError:  # a certificate that TLS refuses at once
            plain.close()
            return _closed_socket()

    def _context(self, certificate: CertificateWithKey | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authorities)
        context.set_alpn_protocols(["http/1.1"])
        if certificate is not None:
            certificate.load_into(context)
        return context

    def _exchange(
        self, connection: socket.socket, method: str, path: str, headers: Headers, host: str | None
    ) -> Answer:
        client = http.client.HTTPConnection(self.host)
        client.sock = connection
        resumed = isinstance(connection, ssl.SSLSocket) and bool(connection.session_reused)
        try:
            client.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            client.putheader("Host", host or self.authority)
            if headers is not _KEPT_OPEN:
                client.putheader("Connection", "close")
            client.putheader("User-Agent", "realmgate-doctor")
            for name, value in headers:
                client.putheader(name, value)
            client.endheaders()
            response = client.getresponse()
            body = response.read(_LARGEST_BODY)
        except (OSError, http.client.HTTPException):
            return Answer(0, b"")
        listed = "".join(f"{name}: {value}\n" for name, value in response.getheaders())
        return Answer(response.status, listed.encode("latin-1") + b"\n" + body, resumed)


def _loopback(host: str) -> str | None:
    """Return the loopback address of a name below localhost (RFC 6761, 6.3), as browsers do."""
    return "127.0.0.1" if host.lower().endswith(".localhost") else None


def _closed_socket() -> socket.socket:
    """Return a socket on which every exchange fails as after a TLS alert."""
    closed = socket.socket()
    closed.close()
    return closed
