"""A server of access tokens on the loopback address."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl

from tests.support.loopback_server import serving


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

    with serving(Handler) as url:
        issuer.url = f"{url}/token"
        yield issuer
