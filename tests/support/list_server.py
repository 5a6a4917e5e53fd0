"""A server of revocation lists and of OCSP responses, and certificates that name its addresses."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import AuthorityInformationAccessOID

from tests.support.chains import DAY, NOW, Node
from tests.support.loopback_server import serving

Answer = tuple[int, str, bytes]
"""Status, value of Location where there is one, body."""
_LONGEST_HOLD: Final = 60.0


@dataclass
class ListServer:
    """Serves `documents` by path and redirects; `asked` are the paths of all requests.

    A request of a path in `held` gets no answer before `release`.
    """

    url: str = ""
    documents: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    respond: Callable[[bytes], bytes] | None = None
    held: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str, body: bytes) -> Answer:
        """Return what the path answers; `body` is that of the request."""
        self.asked.append(path)
        if path in self.held:
            self.release.wait(_LONGEST_HOLD)
        if path in self.redirects:
            return HTTPStatus.FOUND, self.redirects[path], b""
        if body and self.respond is not None:
            return HTTPStatus.OK, "", self.respond(body)
        found = self.documents.get(path)
        return (HTTPStatus.NOT_FOUND, "", b"") if found is None else (HTTPStatus.OK, "", found)


@contextmanager
def serving_lists(host: str = "127.0.0.1") -> Iterator[ListServer]:
    """Serve on the loopback interface."""
    served = ListServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, location, body = served.answer(
                self.path, self.rfile.read(int(self.headers.get("Content-Length", 0)))
            )
            with suppress(ConnectionError):  # the gateway waits no longer
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.end_headers()
                self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that the server looks for

    with serving(Handler, host) as url:
        served.url = url
        try:
            yield served
        finally:
            served.release.set()


def points(*urls: str, **fields: Any) -> x509.CRLDistributionPoints:
    """Return an extension with one point at these addresses."""
    names = [x509.UniformResourceIdentifier(url) for url in urls]
    parts = {"relative_name": None, "reasons": None, "crl_issuer": None} | fields
    return x509.CRLDistributionPoints([x509.DistributionPoint(full_name=names or None, **parts)])


def responder_at(url: str) -> x509.AuthorityInformationAccess:
    """Return an extension that names an OCSP responder."""
    location = x509.UniformResourceIdentifier(url)
    access = x509.AccessDescription(AuthorityInformationAccessOID.OCSP, location)
    return x509.AuthorityInformationAccess([access])


def scope(*urls: str, **fields: Any) -> x509.IssuingDistributionPoint:
    """Return the scope of a list: of certificates that name one of the addresses, or of a kind."""
    names = [x509.UniformResourceIdentifier(url) for url in urls]
    parts: dict[str, Any] = {
        "full_name": names or None,
        "relative_name": None,
        "only_contains_user_certs": False,
        "only_contains_ca_certs": False,
        "only_some_reasons": None,
        "indirect_crl": False,
        "only_contains_attribute_certs": False,
    }
    return x509.IssuingDistributionPoint(**parts | fields)


def list_of(
    issuer: Node,
    *revoked: x509.Certificate,
    extensions: tuple[x509.ExtensionType, ...] = (),
    issued: datetime = NOW - DAY / 2,
    lifetime: timedelta = DAY,
) -> bytes:
    """Return a list of the issuer in DER; `extensions` are critical."""
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(issuer.certificate.subject)
        .last_update(issued)
        .next_update(issued + lifetime)
        .add_extension(x509.CRLNumber(7), critical=False)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=True)
    for certificate in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(certificate.serial_number)
        builder = builder.add_revoked_certificate(entry.revocation_date(issued).build())
    return builder.sign(issuer.key, hashes.SHA256()).public_bytes(Encoding.DER)
