"""A connection to the gateway's own socket, with the headers that nginx sends."""

import http.client
import socket
from collections.abc import Mapping
from typing import Final

from bench.processes import BenchError
from bench.stack import Stack

_TIMEOUT: Final = 600
"""In seconds, as long as nginx waits for the admin API."""


class GatewaySocket:
    """A connection to the gateway's own socket, with what nginx would say of the caller."""

    def __init__(self, target: Stack) -> None:
        """Connect with the first request."""
        self._path = next((target.site.state / "run").glob("gateway-*.sock"))
        secret = (target.site.state / "proxy.secret").read_text().strip()
        self._headers = {
            "Host": "localhost:8443",
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "127.0.0.1",
            "X-Realmgate-Proxy-Secret": secret,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        self._connection: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> int:
        """Send a request and return the status of its answer; raises BenchError for none."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection("localhost", timeout=_TIMEOUT)
            self._connection.sock = socket.socket(socket.AF_UNIX)
            self._connection.sock.settimeout(_TIMEOUT)
            self._connection.sock.connect(str(self._path))
        self._connection.request(method, path, body, {**self._headers, **(headers or {})})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.will_close:
            self._connection = None
        if answer.status >= http.client.INTERNAL_SERVER_ERROR:
            raise BenchError(f"{method} {path}: {answer.status} {text[:200]!r}")
        return answer.status
