"""A plain HTTP/1.1 server on a unix socket that tells what nginx sent to it.

It answers every request with JSON, or with the bytes that a test wrote for its target, and keeps
connections open. Below /fail/, or when told to fail, it breaks off after reading a request.
"""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

CLOSE_AFTER_READING = "/fail/close"
ERROR_OF_ITS_OWN = "/fail/503"
ECHO = "/echo"
"""The end of paths that are answered with the headers of the request."""
CERTIFICATE_REFUSALS = "/.realmgate/certificate/"
"""The beginning of paths by which nginx asks for a page; it gets none, so it shows its own."""


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came over the socket; header names as they were spelled."""

    connection: int
    method: str
    target: str
    version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    trailers: tuple[tuple[str, str], ...] = ()

    def all(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value for other, value in self.headers if other.lower() == name.lower()]


@dataclass(slots=True)
class RecordingUpstream:
    """What arrived so far: `received` are requests of callers, `asked` those of nginx for pages."""

    path: Path
    received: list[Received] = field(default_factory=list)
    asked: list[Received] = field(default_factory=list)
    connections: int = 0
    failing: bool = False
    responses: dict[str, bytes] = field(default_factory=dict)
    """Whole responses by request target; an empty one is none: the caller waits."""

    @property
    def address(self) -> str:
        """Return the server's address as nginx takes it."""
        return f"unix:{self.path}"

    @property
    def last(self) -> Received:
        """Return the newest request."""
        return self.received[-1]

    def forget(self) -> None:
        """Start counting again, and answer as usual."""
        self.received.clear()
        self.asked.clear()
        self.responses.clear()
        self.connections = 0


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, record: RecordingUpstream) -> None:
        self.record = record
        super().__init__(str(record.path), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        record = cast("_Server", self.server).record
        record.connections += 1
        connection = record.connections
        while request := self._read(connection):
            is_question = request.target.startswith(CERTIFICATE_REFUSALS)
            (record.asked if is_question else record.received).append(request)
            if record.failing or request.target == CLOSE_AFTER_READING:
                return
            self._answer(request)

    def _read(self, connection: int) -> Received | None:
        try:
            line = self.rfile.readline().decode("latin-1").split()
        except ConnectionResetError:
            return None
        if not line:
            return None
        headers = self._read_headers()
        received = Received(connection, line[0], line[1], line[2], headers, b"")
        if received.all("Transfer-Encoding"):
            body = b"".join(self._read_chunks())
            return replace(received, body=body, trailers=self._read_headers())
        length = int("".join(received.all("Content-Length")[:1]) or 0)
        return replace(received, body=self.rfile.read(length))

    def _read_headers(self) -> tuple[tuple[str, str], ...]:
        headers = []
        while header := self.rfile.readline().decode("latin-1").strip():
            name, _, value = header.partition(":")
            headers.append((name, value.strip()))
        return tuple(headers)

    def _read_chunks(self) -> Iterator[bytes]:
        while length := int(self.rfile.readline(), 16):
            yield self.rfile.read(length)
            self.rfile.readline()

    def _answer(self, request: Received) -> None:
        record = cast("_Server", self.server).record
        if (written := record.responses.get(request.target)) is not None:
            self.wfile.write(written)
            return
        status = "503 Busy" if request.target == ERROR_OF_ITS_OWN else "200 OK"
        if request.target.startswith(CERTIFICATE_REFUSALS):
            status = "404 Not Found"
        answer: dict[str, object] = {"target": request.target}
        if request.target.endswith(ECHO):
            answer["headers"] = request.headers
        body = json.dumps(answer).encode()
        self.wfile.write(
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nX-Request-Id: its-own\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )


@contextmanager
def recording_upstream(path: Path) -> Iterator[RecordingUpstream]:
    """Serve on the socket `path`; stopping closes the socket and removes it."""
    record = RecordingUpstream(path)
    with _Server(record) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield record
        finally:
            server.shutdown()
            thread.join()
            path.unlink(missing_ok=True)
