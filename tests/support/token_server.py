"""A server of access tokens on the loopback address."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl


@dataclass(slots=True)
class TokenServer:
    """The forms that came; each is answered with `status` and `document`."""

    url: str = ""
    status: int = 200
    document: Any = None
    forms: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def token_server() -> Iterator[TokenServer]:
    """Issue tokens until the end of the block."""
    issuer = TokenServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer a request of a token."""
            body = self.rfile.read(int(self.headers["content-length"]))
            issuer.forms.append(dict(parse_qsl(body.decode())))
            content = json.dumps(issuer.document).encode()
            self.send_response(issuer.status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_port}/token"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
