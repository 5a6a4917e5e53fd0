"""A client that receives logout tokens on the loopback address."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Final
from urllib.parse import parse_qs

from tests.support.loopback_server import serving

FETCHES_FROM_LOOPBACK: Final = {"fetch_networks": "127.0.0.1", "fetch_http": "true"}
"""Settings of a gateway that may send requests to the receiver."""


@dataclass(slots=True)
class LogoutReceiver:
    """The tokens that came, by the status that is answered with."""

    url: str = ""
    status: int = 200
    tokens: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def receive(self, body: bytes) -> int:
        """Keep the token of a request."""
        (token,) = parse_qs(body.decode())["logout_token"]
        (self.tokens if self.status < 300 else self.refused).append(token)
        return self.status


@contextmanager
def logout_receiver() -> Iterator[LogoutReceiver]:
    """Receive tokens until the end of the block."""
    receiver = LogoutReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer a notice."""
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(receiver.receive(body))
            self.send_header("content-length", "0")
            self.end_headers()

    with serving(Handler) as url:
        receiver.url = f"{url}/logout"
        yield receiver
