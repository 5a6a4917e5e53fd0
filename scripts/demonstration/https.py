"""One HTTPS request, with or without a client certificate."""

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 10
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class Response:
    """What a server sent. Names of headers are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes

    def header(self, name: str) -> str:
        """Return the first header of this name, in lower case; empty without one."""
        return next((value for each, value in self.headers if each == name), "")


@dataclass(frozen=True, slots=True)
class HttpsClient:
    """Trusts the authority of a folder of certificates, and shows certificates out of it."""

    certificates: Path

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: str | None = None,
        device: str | None = None,
    ) -> Response:
        """Send a request on a connection of its own; raises OSError, HTTPException.

        `device` is the name of the client certificate.
        """
        trust = ssl.create_default_context(cafile=self.certificates / "root.crt")
        if device is not None:
            pair = self.certificates / device
            trust.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        parts = urlsplit(url)
        connection = HTTPSConnection(parts.netloc, context=trust, timeout=TIMEOUT_SECONDS)
        connection.sock = trust.wrap_socket(
            socket.create_connection(_address(parts.hostname, parts.port), TIMEOUT_SECONDS),
            server_hostname=parts.hostname,
        )
        try:
            target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            received = tuple((name.lower(), value) for name, value in response.getheaders())
            return Response(response.status, received, response.read())
        finally:
            connection.close()


def _address(host: str | None, port: int | None) -> tuple[str, int]:
    """Return where to connect to.

    Every name below localhost is this machine. Browsers know that, Python's resolver may not.
    Spec: RFC 6761 §6.3
    """
    name = host or ""
    return "localhost" if name.endswith(".localhost") else name, port or _HTTPS
