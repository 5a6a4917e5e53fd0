"""A service whose responses and requests have no end: events, uploads, downloads, a WebSocket.

Spec: RFC 6455 §4; https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import base64
import hashlib
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import cast

_ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
BLOCK = b"x" * 65_536
DOWNLOADED_BLOCKS = 320


@dataclass(slots=True)
class StreamingService:
    """What the tests wait for; `uploaded` counts the bytes of the newest upload."""

    path: Path
    upgrades: list[str] = field(default_factory=list)
    uploaded: int = 0
    upload_arrives: threading.Event = field(default_factory=threading.Event)
    next_event: threading.Event = field(default_factory=threading.Event)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, service: StreamingService) -> None:
        self.service = service
        super().__init__(str(service.path), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    rfile: BufferedReader

    def handle(self) -> None:
        service = cast("_Server", self.server).service
        target = self.rfile.readline().decode().split(" ")[1]
        headers: dict[str, str] = {}
        while line := self.rfile.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        service.upgrades.append(headers.get("upgrade", ""))
        match target:
            case "/socket":
                self._echo(headers)
            case "/events":
                self._send_events(service)
            case "/download":
                self._download()
            case _:
                self._take(service, int(headers.get("content-length", "0")))

    def _echo(self, headers: dict[str, str]) -> None:
        if headers.get("upgrade") != "websocket":
            self.wfile.write(b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n")
            return
        key = (headers["sec-websocket-key"] + _ACCEPT_SUFFIX).encode()
        accept = base64.b64encode(hashlib.sha1(key, usedforsecurity=False).digest()).decode()
        self.wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
        )
        while data := self.connection.recv(4096):
            self.connection.sendall(data)

    def _send_events(self, service: StreamingService) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        self.wfile.write(b"data: first\n\n")
        if service.next_event.wait(10):
            self.wfile.write(b"data: second\n\n")

    def _download(self) -> None:
        length = DOWNLOADED_BLOCKS * len(BLOCK)
        self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode())
        for _ in range(DOWNLOADED_BLOCKS):
            self.wfile.write(BLOCK)

    def _take(self, service: StreamingService, length: int) -> None:
        service.uploaded = 0
        while service.uploaded < length:
            received = self.rfile.read1(65_536)
            if not received:
                return
            service.uploaded += len(received)
            service.upload_arrives.set()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


@contextmanager
def streaming_service(path: Path) -> Iterator[StreamingService]:
    """Serve on the socket `path`."""
    service = StreamingService(path)
    with _Server(service) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
