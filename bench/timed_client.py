"""An HTTPS client of one connection that takes the time until each response has arrived."""

import json
import ssl
import time
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

_TIMEOUT = 120


@dataclass(frozen=True, slots=True)
class TimedResponse:
    """A response as the replay of tests/support reads it; names of headers are in small letters."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """Return the body."""
        return self.content.decode()

    def json(self) -> Any:
        """Return the document; ValueError where the body is none."""
        return json.loads(self.content)


class TimedClient:
    """Sends requests to one server and adds up the seconds that they take."""

    def __init__(self, port: int, authority: Path) -> None:
        self.url = f"https://localhost:{port}"
        self.seconds = 0.0
        self._connection = HTTPSConnection(
            "localhost",
            port,
            timeout=_TIMEOUT,
            context=ssl.create_default_context(cafile=str(authority)),
        )

    def request(
        self, method: str, url: str, *, headers: dict[str, str], content: bytes | None
    ) -> TimedResponse:
        """Send a request to a URL of the server."""
        path = url.removeprefix(self.url)
        began = time.perf_counter()
        self._connection.request(method, path, content, headers)
        response = self._connection.getresponse()
        body = response.read()
        self.seconds += time.perf_counter() - began
        found = {name.lower(): value for name, value in response.getheaders()}
        return TimedResponse(response.status, found, body)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
